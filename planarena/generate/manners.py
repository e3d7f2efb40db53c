"""Manners of speaking: how requests open, go on, join and close, by register. British spelling; see `spelling`.

An opening that ends in "?" makes a question. What follows an opening is an imperative clause.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "ACKNOWLEDGED",
    "ASIDES",
    "GREETINGS",
    "JOIN_AND",
    "JOIN_THEN",
    "REGISTERS",
    "STYLES",
    "THANKS",
    "Style",
]


class Style(NamedTuple):
    """The words of a register: pairs of opening and stop for the first sentence, openings for those that follow."""

    openers: tuple[tuple[str, str], ...]
    later: tuple[str, ...]
    then: tuple[str, ...]
    also: tuple[str, ...]
    last: tuple[str, ...]


# Share of each register [ours].
REGISTERS: tuple[tuple[str, float], ...] = (
    ("plain", 0.23), ("terse", 0.12), ("chatty", 0.15), ("indirect", 0.11), ("formal", 0.09), ("hurried", 0.09),
    ("casual", 0.09), ("aside", 0.08), ("listed", 0.04),
)  # fmt: skip

STYLES: dict[str, Style] = {
    "plain": Style(
        (
            ("", "."), ("", "."), ("", "."), ("Please ", "."), ("Could you ", "?"), ("Can you ", "?"),
            ("I need you to ", "."), ("I'd like you to ", "."), ("Would you ", "?"), ("Could you please ", "?"),
            ("I want you to ", "."), ("Can you please ", "?"), ("Would you please ", "?"),
            ("Today I'd like you to ", "."), ("I need some help: ", "."), ("Here's what I need: ", "."),
            ("First job today: ", "."), ("One thing for you: ", "."), ("Can I get you to ", "?"),
            ("What I'm after: ", "."), ("Be so kind as to ", "."), ("A small job: ", "."), ("My request: ", "."),
            ("Would you go ahead and ", "?"), ("Next on my agenda: ", "."), ("I'd like some support here: ", "."),
            ("Are you able to ", "?"), ("Top of my list: ", "."), ("To get going, ", "."), ("Time for some order: ", "."),
            ("I'd ask you to ", "."), ("Go ahead and ", "."), ("Here's today's errand: ", "."), ("Will you ", "?"),
        ),
        (
            "Thanks. Now ", "Good. Now ", "Great, and now ", "Okay, now ", "All right. Please ", "Right, then ", "",
            "Please ", "Now ", "Good to know. Then ", "Perfect, thanks. Could you ", "Thank you. Next, ", "Fine. ",
            "Excellent. Now please ", "Then please ", "In that case, ", "With that settled, ", "Understood. ",
        ),
        ("Then ", "After that, ", "Next, ", "Once that is done, ", "When you have that, ", "Afterwards, ", "From there, "),
        ("Also, ", "Separately, ", "In addition, ", "Besides that, ", "And please also ", "Please also ", "And ", "Plus, "),
        ("Finally, ", "To finish, ", "Last of all, ", "And lastly, ", "As a last step, "),
    ),
    "terse": Style(
        (("", "."),),
        ("Now ", "OK. ", "Good. ", "", "Next: ", "Then ", "Right. ", "Thanks. "),
        ("Then ", "Next: ", "After that: ", "Afterwards "),
        ("Also: ", "Plus: ", "And ", "Also ", "As well: "),
        ("Last: ", "Finally ", "Lastly "),
    ),
    "chatty": Style(
        (
            ("could you ", "?"), ("can you please ", "?"), ("I'd love it if you could ", "."), ("please ", "."), ("be a star and ", "."),
            ("do me a favour and ", "."), ("can I ask you to ", "?"),
            ("would you be so kind as to ", "?"), ("you know what I need? Please ", "."),
            ("would you be a dear and ", "?"), ("I could kiss you if you'd ", "."), ("help me out and ", "."),
            ("guess what, I need you to ", "."), ("spare me the trouble and ", "."),
            ("I'd be over the moon if you could ", "."), ("may I trouble you to ", "?"), ("lend me a hand and ", "."),
        ),
        (
            "Oh, lovely. Now could you ", "Brilliant, thanks! Next, please ", "Ah, I see. Then please ",
            "That's great. Could you also ", "Wonderful! And now ", "Aha, good to know. Now please ", "Super. Please ",
            "Thanks, that helps a lot. Now ", "Nice one. Would you now ", "Perfect, you're quick! Please ",
            "Okay, that's what I hoped for. So please ", "Hm, I thought so. Well then, ",
        ),
        ("Then ", "Once you have that, ", "When that's done, please ", "And then ", "After that, please ", "Right after, "),
        (
            "Oh, and please ", "While you're at it, ", "And could you also ", "One more thing: ", "Before I forget, ",
            "Oh, nearly forgot: ", "And since you're there, ",
        ),
        ("And last but not least, ", "Finally, please ", "To round it off, ", "And to wrap things up, "),
    ),
    "indirect": Style(
        (
            ("I was wondering if you could ", "."), ("It would be great if you could ", "."),
            ("Would it be possible for you to ", "?"), ("I'd be grateful if you could ", "."), ("Perhaps you could ", "."),
            ("I was hoping that you could ", "."), ("Any chance that you could ", "?"), ("Do you think you could ", "?"),
            ("Might I trouble you to ", "?"), ("It'd ease my mind if you could ", "."), ("Ideally you would ", "."),
            ("Would you consider it a bother to ", "?"), ("I'd sleep easier if you could ", "."),
            ("Should you find the time, please ", "."), ("Could I persuade you to ", "?"),
            ("It would help me a lot if you could ", "."), ("Maybe you could ", "."), ("I'm hoping you can ", "."),
            ("Would you mind if I asked you to ", "?"), ("If it isn't too much trouble, ", "."),
            ("Whenever it suits you, ", "."), ("If you have a moment, ", "."), ("I don't suppose you could ", "?"),
        ),
        (
            "Thank you. Perhaps you could now ", "That's kind. Maybe you could ", "I see. In that case perhaps you could ",
            "Good. I'd be glad if you could now ", "Thanks. It would be nice if you could ", "Ah. Then you might ",
            "That helps. Would you be able to ", "All right. I wonder if you could ",
        ),
        (
            "After that, perhaps you could ", "Once that is done, it would be nice if you could ",
            "Then I would ask you to ", "From there, could you also ", "Afterwards you might ",
        ),
        (
            "It would also help if you could ", "Maybe you could also ", "I'd also be glad if you could ",
            "Perhaps also ", "And if you could, please ", "You might also ",
        ),
        ("Finally, I'd be glad if you could ", "As a last thing, perhaps you could ", "And in the end maybe you could "),
    ),
    "formal": Style(
        (
            ("Kindly ", "."), ("I would appreciate it if you could ", "."), ("Please be so good as to ", "."),
            ("I should like you to ", "."), ("May I ask you to ", "?"), ("I request that you ", "."),
            ("I would be obliged if you could ", "."), ("Good day. Please ", "."),
            ("I respectfully ask you to ", "."), ("At your earliest convenience, please ", "."), ("It is requested that you ", "."),
            ("I trust that you can ", "."), ("For the record, please ", "."), ("To whom it concerns: please ", "."),
            ("Allow me to ask you to ", "."), ("In this matter, kindly ", "."), ("Dear assistant, please ", "."),
            ("I am writing to have you ", "."), ("You are requested to ", "."),
        ),
        (
            "Thank you for the information. Please now ", "Very well. Kindly ", "Understood. I would now ask you to ",
            "Many thanks. Please proceed to ", "That is clear. Please ", "I am obliged. Would you now ",
            "Noted, with thanks. Next, kindly ",
        ),
        ("Thereafter, please ", "Subsequently, ", "Following that, kindly ", "Once this is completed, please "),
        ("In addition, please ", "Furthermore, ", "I would also ask you to ", "Moreover, kindly ", "Likewise, please "),
        ("Lastly, please ", "In conclusion, kindly ", "Finally, I would ask you to "),
    ),
    "hurried": Style(
        (
            ("Quick one: ", "."), ("No time today, just ", "."), ("Urgent: ", "."), ("I'm late, so please ", "."),
            ("Quickly, ", "."), ("In a rush here. ", "."), ("ASAP please: ", "."), ("Can you quickly ", "?"),
            ("I've got two minutes. ", "."), ("This can't wait: ", "."), ("Right away please: ", "."),
            ("Taxi's outside, so ", "."), ("Thirty seconds, then I'm gone: ", "."), ("Speedily, please: ", "."),
            ("Deadline looming: ", "."), ("Running between meetings: ", "."), ("Battery at three percent: ", "."),
            ("Gate closes shortly, please ", "."), ("Pressed for time: ", "."), ("On the hop, so please ", "."),
            ("My train leaves in a moment, please ", "."), ("Boarding now. ", "."), ("Need this before my next call: ", "."),
        ),
        ("Great. Quickly now: ", "OK, next: ", "Good, go on and ", "Fast, thanks. Now ", "Right, ", "Got it. Now ", "Fine, so "),
        ("Then ", "Right after that, ", "Next, ", "And straight after, "),
        ("Also, ", "And ", "Plus ", "At the same time, ", "Oh and "),
        ("And finally ", "Last one: ", "Then you're done: "),
    ),
    "casual": Style(
        (
            ("hey, ", ""), ("can you ", "?"), ("pls ", ""), ("yo, ", ""), ("hi, could you ", "?"), ("so, ", ""), ("", ""),
            ("hey can you ", "?"), ("mind if you ", "?"), ("gonna need you to ", ""), ("ok so pls ", ""), ("hiya, ", ""),
            ("right, ", ""), ("morning! pls ", ""), ("need a hand here, ", ""),
            ("sup, ", ""), ("gimme a hand: ", ""), ("oi, ", ""), ("lazy me again, pls ", ""), ("real quick, ", ""),
            ("u there? pls ", ""), ("heya, could you ", "?"), ("mate, ", ""), ("ok new thing: ", ""), ("fyi i'm on my phone. ", ""),
        ),
        ("cool, now ", "nice. ", "ok and now ", "great, then ", "ah ok. pls ", "sweet, now ", "thx! now ", "alright, ", "good stuff. "),
        ("then ", "after that ", "and then ", "once that's done, "),
        ("also ", "oh and ", "and pls also ", "plus ", "btw, also "),
        ("and last thing, ", "finally ", "and to finish, "),
    ),
}  # fmt: skip

JOIN_THEN = (
    ", then ",
    " and then ",
    ", and after that ",
    " and afterwards ",
    " and next ",
    ", and once you have that, ",
)
JOIN_AND = (" and ", ", and also ", " and ", ", and ", " as well as ")[:4]

# Before a whole sentence of a later message.
ACKNOWLEDGED = (
    "Thanks.", "Okay.", "Good.", "I see.", "Great.", "Right.", "Noted.", "Perfect.", "Lovely.", "Understood.",
    "That helps.", "Good to know.", "Fair enough.", "Makes sense.", "Excellent.", "Brilliant.", "Ah, good.",
    "As I thought.", "Glad to hear it.", "Splendid.", "Cheers.", "Very good.",
)  # fmt: skip
GREETINGS = (
    "Hey there, ", "Hi, hope you're well! ", "Good morning! ", "Hello, me again, ", "Hi there! ", "Good evening! ",
    "Hey, I'm about to run into a meeting, so ", "Hi! I keep putting this off, ", "Hello! Busy week over here, ",
    "Hey, quick favour before I leave: ", "Hi, I'm a bit lost with all this, ", "Good afternoon! ", "Hey! ",
    "Hello hello! ", "Hi, it's me. ", "Hey, are you there? ", "Hi! Long day, ",
    "Ah, there you are! ", "Hi, sorry to be a nuisance, ", "Hey, one for you: ", "Hello! Nice and sunny here today. ",
    "Hi! I finally have a minute, ", "Well, hello! ", "Hi again, ", "Hey, so, ", "Hi! My list is endless today, ",
    "Good morning, coffee in hand, ", "Hello from the train! ", "Hi! Back at my desk at last, ",
    "Hi! Jet-lagged but functional. ", "Morning! The kettle is on. ", "Hello! Greetings from a draughty attic. ",
    "Hi, a bundle of nerves here. ", "Hey! Between two dentist visits. ", "Good evening, last errand of the day. ",
    "Hello! Feet up, laptop on my knees. ", "Hi! Sunburnt and back from the seaside. ", "Hey, typing with one thumb. ",
    "Hello, it's your favourite procrastinator. ", "Hi! Snowed in, so time for paperwork. ", "Hey! Rested for once. ",
    "Good day! My memory is a sieve. ", "Hi there, baby on my arm. ", "Hello! Stuck in traffic as a passenger. ",
    "Hi! Hectic already, and it's barely nine. ", "Evening! Tidying up loose ends. ", "Hello, slightly panicked today. ",
    "Hi! My notebook went missing, so I ask you. ", "Hey! Waiting for the plumber. ", "Good afternoon, sleepy hour here. ",
)  # fmt: skip
THANKS = (
    "Thanks a lot!", "Thank you so much!", "Much appreciated.", "Thanks, you're a great help.", "Cheers!",
    "Thanks in advance.", "That would save my day.", "Thank you, talk soon.", "You're a lifesaver.", "Ta!",
    "Many thanks!", "I owe you one.", "Thanks for sorting this out.", "Thanks ever so much.", "Bless you.",
    "That would be a weight off my mind.", "No rush, and thank you.", "Then I can finally relax.", "Thank you kindly.",
    "Appreciate it!", "Have a good one!", "Fingers crossed.",
    "You've made my afternoon.", "I'd be lost without you.", "That takes a load off my shoulders.", "Brilliant, ta.",
    "Then I can shut the laptop.", "Off to lunch now.", "I'll sleep better tonight.", "You deserve a medal.",
    "Back in ten minutes.", "Grateful as ever.", "I'll buy you an imaginary biscuit.", "Speak later.", "Bye for now!",
    "That settles my nerves.", "One less headache for me.", "I knew I could count on you.", "Best wishes from the sofa.",
    "It's been nagging me since Sunday.", "My partner will be relieved too.", "Right, back to the laundry.",
)  # fmt: skip
# Remarks that have nothing to do with the request, before or after it.
ASIDES = (
    "My neighbour's dog has been barking all morning.", "I still haven't had breakfast.",
    "The coffee machine here is broken again.", "It has been raining since I got up.",
    "I slept badly, so bear with me.", "My phone battery is almost empty.", "The lift is out of order once more.",
    "I just got back from a run.", "The office is unusually quiet today.", "I'm typing this on the train.",
    "My sister is visiting at the moment.", "The heating took ages to start this morning.",
    "I found an old photo album yesterday.", "Somebody parked in front of our gate.", "I'm learning to bake bread.",
    "The kids are finally asleep.", "My desk is covered in paper.", "There is roadwork right outside the window.",
    "I spilled tea on my keyboard.", "A colleague brought cake today.", "My glasses broke, so I type slowly.",
    "The cat is sitting on my papers.", "I've been humming the same song all day.", "Lunch was far too heavy.",
    "We have builders in, so excuse the typing.", "The internet here comes and goes.", "I'm standing in a queue.",
    "My hands are freezing, winter has arrived.", "Somebody keeps ringing at the wrong door.",
    "I'm on the sofa with a cold.", "The bus was late again.", "We painted the hallway at the weekend.",
    "The fire alarm was tested three times today.", "I've just come out of a very long call.",
    "My daughter lost her first tooth this morning.", "The plants need watering, I just noticed.",
    "A pigeon has moved onto our balcony.", "I burnt the porridge.", "The tram drivers are on strike.",
    "Grandma turned ninety yesterday.", "I've mislaid my reading glasses again.", "Somewhere a car alarm is howling.",
    "Our printer ate another sheet.", "It smells of fresh varnish in here.", "I've got hiccups.", "The jam jar won't open.",
    "My umbrella turned inside out on the bridge.", "We ran out of milk.", "There's a wasp in the kitchen.",
    "I finished that crime novel at two in the morning.", "The twins drew on the wallpaper.", "My knee aches, so it will rain.",
    "A brass band is rehearsing next door.", "I won a tombola prize, a garden gnome.", "The first swallows are back.",
    "My shoes are soaked.", "Our village celebrates its patron saint.", "I'm trying to give up sugar.",
    "The tomatoes on the balcony are ripe.", "Half the street is without power.", "I just met my old chemistry teacher.",
    "The washing machine walks across the bathroom.", "My bicycle chain snapped.", "I've joined a choir.",
    "The moon looked enormous last night.", "A fox ran through our yard at dawn.", "I dropped a whole tray of eggs.",
    "My nephew has started to juggle.", "The upstairs tenants are dancing.", "There was a rainbow over the harbour.",
    "I'm queuing for stamps.", "The hamster escaped again.", "My voice is gone, so I type.", "We adopted a greyhound.",
)  # fmt: skip
