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
    ("plain", 0.17), ("terse", 0.12), ("chatty", 0.15), ("indirect", 0.11), ("formal", 0.09), ("hurried", 0.09),
    ("casual", 0.09), ("aside", 0.11), ("listed", 0.04),
)  # fmt: skip

STYLES: dict[str, Style] = {
    "plain": Style(
        (
            ("", "."), ("", "."), ("", "."), ("Please ", "."), ("Could you ", "?"), ("Can you ", "?"),
            ("I need you to ", "."), ("I'd like you to ", "."), ("Would you ", "?"),
            ("Could you please ", "?"), ("I want you to ", "."), ("Can you please ", "?"),
            ("Would you please ", "?"), ("Would you go ahead and ", "?"), ("Go ahead and ", "."),
            ("Will you ", "?"),
        ),
        (
            "Thanks. Now ", "Good. Now ", "Great, and now ", "Okay, now ", "All right. Please ",
            "Right, then ", "", "Please ", "Now ", "Good to know. Then ", "Perfect, thanks. Could you ",
            "Thank you. Next, ", "Then please ", "That's what I needed. Now please ",
        ),
        (
            "Then ", "After that, ", "Next, ", "Once that is done, ", "When you have that, ",
            "Afterwards, ",
        ),
        (
            "Also, ", "In addition, ", "And please also ", "Please also ", "And ", "Plus, ",
        ),
        (
            "Finally, ", "To finish, ", "And lastly, ",
        ),
    ),
    "terse": Style(
        (
            ("", "."),
        ),
        (
            "Now ", "OK. ", "Good. ", "", "Next: ", "Then ", "Right. ", "Thanks. ", "Noted. ",
        ),
        (
            "Then ", "Next: ", "After that: ", "Afterwards ",
        ),
        (
            "Also: ", "Plus: ", "And ", "Also ",
        ),
        (
            "Last: ", "Finally ", "Lastly ",
        ),
    ),
    "chatty": Style(
        (
            ("could you ", "?"), ("can you please ", "?"), ("please ", "."), ("do me a favour and ", "."),
            ("can I ask you to ", "?"),
        ),
        (
            "Oh, lovely. Now could you ", "Brilliant, thanks! Next, please ", "Ah, I see. Then please ",
            "That's great. Could you also ", "Wonderful! And now ", "Super. Please ",
            "Thanks, that helps a lot. Now ", "Nice one. Would you now ",
        ),
        (
            "Then ", "Once you have that, ", "When that's done, please ", "And then ",
            "After that, please ",
        ),
        (
            "Oh, and please ", "While you're at it, ", "And could you also ", "One more thing: ",
            "Before I forget, ", "Oh, nearly forgot: ",
        ),
        (
            "And last but not least, ", "Finally, please ", "And to wrap things up, ",
        ),
    ),
    "indirect": Style(
        (
            ("I was wondering if you could ", "."), ("It would be great if you could ", "."),
            ("Would it be possible for you to ", "?"), ("I'd be grateful if you could ", "."),
            ("Perhaps you could ", "."), ("Do you think you could ", "?"),
            ("It would help me a lot if you could ", "."), ("I'm hoping you can ", "."),
            ("If you have a moment, ", "."),
        ),
        (
            "Thank you. Perhaps you could now ", "Good. I'd be glad if you could now ",
            "That helps. Would you be able to ", "All right. I wonder if you could ",
        ),
        (
            "After that, perhaps you could ", "From there, could you also ",
        ),
        (
            "It would also help if you could ", "Maybe you could also ", "I'd also be glad if you could ",
            "And if you could, please ",
        ),
        (
            "Finally, I'd be glad if you could ", "As a last thing, perhaps you could ",
        ),
    ),
    "formal": Style(
        (
            ("Kindly ", "."), ("I would appreciate it if you could ", "."), ("I should like you to ", "."),
            ("May I ask you to ", "?"), ("Good day. Please ", "."),
        ),
        (
            "Thank you for the information. Please now ", "Very well. Kindly ",
            "Understood. I would now ask you to ", "Many thanks. Please ", "Thank you kindly. Please ",
            "Very well. Please ",
        ),
        (
            "Thereafter, please ", "Following that, kindly ", "Once this is completed, please ",
        ),
        (
            "In addition, please ", "Furthermore, ", "I would also ask you to ", "Additionally, kindly ",
        ),
        (
            "Lastly, please ", "In conclusion, kindly ", "Finally, I would ask you to ",
        ),
    ),
    "hurried": Style(
        (
            ("Quick one: ", "."), ("Urgent: ", "."), ("I'm late, so please ", "."), ("Quickly, ", "."),
            ("In a rush here. ", "."), ("ASAP please: ", "."), ("Can you quickly ", "?"),
            ("I've got two minutes. ", "."), ("This can't wait: ", "."), ("Right away please: ", "."),
            ("Need this before my next call: ", "."),
        ),
        (
            "Great. Quickly now: ", "OK, next: ", "Good, go on and ", "Right, ", "Got it. Now ",
        ),
        (
            "Then ", "Right after that, ", "Next, ", "Immediately after, ",
        ),
        (
            "Also, ", "And ", "Plus ", "At the same time, ", "Oh and ",
        ),
        (
            "And finally ", "Last one: ",
        ),
    ),
    "casual": Style(
        (
            ("hey, ", ""), ("can you ", "?"), ("pls ", ""), ("hi, could you ", "?"), ("so, ", ""),
            ("", ""), ("hey can you ", "?"), ("ok so pls ", ""), ("hiya, ", ""), ("morning! pls ", ""),
            ("heya, could you ", "?"), ("fyi i'm on my phone. ", ""),
        ),
        (
            "cool, now ", "nice. ", "ok and now ", "great, then ", "ah ok. pls ", "sweet, now ",
            "thx! now ", "awesome, next ",
        ),
        (
            "then ", "after that ", "and then ", "once that's done, ",
        ),
        (
            "also ", "oh and ", "and pls also ", "plus ", "btw, also ",
        ),
        (
            "and last thing, ", "finally ", "and to finish, ",
        ),
    ),
}  # fmt: skip

JOIN_THEN = (", then ", " and then ", ", and after that ", " and afterwards ")
JOIN_AND = (" and ", ", and also ", " and ", ", and ")

# Before a whole sentence of a later message.
ACKNOWLEDGED = (
    "Thanks.", "Okay.", "Good.", "I see.", "Great.", "Right.", "Noted.", "Perfect.", "Lovely.",
    "Understood.", "Good to know.", "Excellent.", "Brilliant.", "Glad to hear it.",
)  # fmt: skip
GREETINGS = (
    "Hey there, ", "Hi, hope you're well! ", "Good morning! ", "Hello, me again, ", "Hi there! ",
    "Good evening! ", "Hey, quick favour before I leave: ", "Good afternoon! ", "Hey! ", "Hi, it's me. ",
    "Ah, there you are! ", "Hey, one for you: ", "Hello! Nice and sunny here today. ", "Well, hello! ",
    "Hi again, ", "Hello from the train! ", "Hi! Jet-lagged but functional. ",
    "Morning! The kettle is on. ", "Hello! Greetings from a draughty attic. ",
    "Hey! Between two dentist visits. ", "Good evening, last errand of the day. ",
    "Hello! Feet up, laptop on my knees. ", "Hi! Sunburnt and back from the seaside. ",
    "Hey, typing with one thumb. ", "Hi! Snowed in, so time for paperwork. ", "Hey! Rested for once. ",
    "Hi, fresh out of the shower. ", "Hello! Half asleep still. ", "Morning, birds are singing! ",
    "Good evening from a packed ferry. ", "Hi! Just watered the orchids. ",
    "Hey! Popcorn's ready, film starts soon. ", "Good afternoon, mid-crossword. ",
    "Hi, dog asleep on my foot. ", "Hi there, baby on my arm. ",
    "Hello! Stuck in traffic as a passenger. ", "Evening! Tidying up loose ends. ",
    "Hello, slightly panicked today. ", "Hi! My notebook went missing, so I ask you. ",
    "Hey! Waiting for the plumber. ", "Good afternoon, sleepy hour here. ",
)  # fmt: skip
THANKS = (
    "Thanks a lot!", "Thank you so much!", "Much appreciated.", "Thanks, you're a great help.", "Cheers!",
    "Thanks in advance.", "That would save my day.", "Thank you, talk soon.", "You're a lifesaver.",
    "Many thanks!", "I owe you one.", "Thanks for sorting this out.", "Thanks ever so much.",
    "No rush, and thank you.", "Then I can finally relax.", "Thank you kindly.", "Appreciate it!",
    "Have a good one!", "You've made my afternoon.", "I'd be lost without you.", "Brilliant, ta.",
    "Off to lunch now.", "I'll sleep better tonight.", "Back in ten minutes.", "Speak later.",
    "Bye for now!", "I knew I could count on you.", "Right, back to the laundry.",
)  # fmt: skip
# Remarks that have nothing to do with the request, before or after it.
ASIDES = (
    "My neighbour's dog has been barking all morning.", "I still haven't had breakfast.",
    "The coffee machine here is broken again.", "It has been raining since I got up.",
    "The lift is out of order once more.", "I just got back from a run.",
    "The office is unusually quiet today.", "I'm typing this on the train.",
    "My sister is visiting at the moment.", "I found an old photo album yesterday.",
    "I'm learning to bake bread.", "The kids are finally asleep.", "My desk is covered in paper.",
    "There is roadwork right outside the window.", "I spilled tea on my keyboard.",
    "A colleague brought cake today.", "My glasses broke, so I type slowly.",
    "The cat is sitting on my papers.", "Lunch was far too heavy.",
    "We have builders in, so excuse the typing.", "The internet here comes and goes.",
    "I'm standing in a queue.", "My hands are freezing, winter has arrived.",
    "Somebody keeps ringing at the wrong door.", "The bus was late again.",
    "The fire alarm was tested three times today.", "My daughter lost her first tooth this morning.",
    "The plants need watering, I just noticed.", "A pigeon has moved onto our balcony.",
    "I burnt the porridge.", "The tram drivers are on strike.", "Grandma turned ninety yesterday.",
    "I've mislaid my reading glasses again.", "Somewhere a car alarm is howling.",
    "Our printer ate another sheet.", "It smells of fresh varnish in here.", "I've got hiccups.",
    "The jam jar won't open.", "My umbrella turned inside out on the bridge.", "We ran out of milk.",
    "There's a wasp in the kitchen.", "I finished that crime novel at two in the morning.",
    "The twins drew on the wallpaper.", "A brass band is rehearsing next door.",
    "The first swallows are back.", "My shoes are soaked.", "Our village celebrates its patron saint.",
    "I'm trying to give up sugar.", "The tomatoes on the balcony are ripe.",
    "I just met my old chemistry teacher.", "The washing machine walks across the bathroom.",
    "My bicycle chain snapped.", "I've joined a choir.", "The moon looked enormous last night.",
    "A fox ran through our yard at dawn.", "I dropped a whole tray of eggs.",
    "My nephew has started to juggle.", "The upstairs tenants are dancing.",
    "There was a rainbow over the harbour.", "A kingfisher darted past our jetty.",
    "Rhubarb crumble is cooling on the sill.", "The vicar lost his bicycle clip.",
    "Lightning struck the old poplar.", "Cobwebs everywhere after the holidays.",
    "We're pickling gherkins tonight.", "The harbourmaster's dachshund follows me.",
    "A busker plays bagpipes under my balcony.", "My aunt crochets tea cosies by the dozen.",
    "The juggler on the square dropped his torches.", "Slugs devoured our lettuce.",
    "I singed my fringe on a birthday candle.", "The lighthouse foghorn kept me awake.",
    "Our tandem squeaks dreadfully.", "The confectioner ran out of nougat.",
    "A beaver dammed the brook behind us.", "The yoga teacher snores louder than anyone.",
    "Hailstones dented the mailbox.", "I've blisters from raking leaves.",
    "The kettle whistles in F sharp.", "Our raft sank at the regatta.",
    "Mistletoe hangs above the photocopier.", "A magpie nicked my earring.",
    "The sauna is booked until Easter.", "Gran's cuckoo clock strikes thirteen.",
    "I spotted an otter while jogging.", "The hammock tore, with me in it.",
    "Thunder rolls over the hills.", "My tomcat caught a shrew.", "I've knitted half a mitten.",
    "Fog swallowed the church tower.", "Our goldfish needs a bigger tank.",
    "Pollen makes me sneeze nonstop.", "A hedgehog sleeps under our porch.",
    "My uncle polishes his trombone again.", "The chimney sweep came unannounced.",
    "The carpet smells of lavender now.", "Our landlord is whistling on the stairs.",
    "A squirrel stole the walnuts.", "The opera singer opposite practises scales.",
    "My scooter has a flat.", "Marmalade is all over the remote control.",
    "The river burst its banks overnight.", "I missed the eclipse, sadly.",
    "Granddad insists on teaching me chess.", "The scaffolding finally came down.",
    "We've run out of candles.", "A moth ate my favourite jumper.",
    "The choirboys sang beneath our window.", "I caught a cold at the skating rink.",
    "Our parrot has learnt to swear.", "The pumpkin outgrew its bed.", "I'm wearing odd socks.",
    "The well has frozen over.", "An owl hooted till dawn.", "My sourdough refuses to rise.",
    "We watched meteors from the roof.", "The blacksmith's apprentice waved at me.",
    "My toddler hid the scissors.", "The hamster escaped again.", "We adopted a greyhound.",
)  # fmt: skip
