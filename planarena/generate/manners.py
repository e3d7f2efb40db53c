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
    ("plain", 0.21), ("terse", 0.12), ("chatty", 0.15), ("indirect", 0.11), ("formal", 0.09), ("hurried", 0.09),
    ("casual", 0.09), ("aside", 0.07), ("listed", 0.04),
)  # fmt: skip

STYLES: dict[str, Style] = {
    "plain": Style(
        (
            ("", "."), ("", "."), ("", "."), ("Please ", "."), ("Could you ", "?"), ("Can you ", "?"),
            ("I need you to ", "."), ("I'd like you to ", "."), ("Would you ", "?"),
            ("Could you please ", "?"), ("I want you to ", "."), ("Can you please ", "?"),
            ("Would you please ", "?"), ("Will you ", "?"),
        ),
        (
            "Thanks. Now ", "Good. Now ", "Okay, now ", "All right. Please ", "", "Please ", "Now ",
            "Thanks. Could you ", "Then please ",
        ),
        (
            "Then ", "After that, ", "Next, ", "Once that is done, ",
        ),
        (
            "And please also ", "Please also ", "And ",
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
            "Also: ", "And ",
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
            "Thanks! Now could you ", "Thank you! Next, please ", "I see. Then please ", "Thanks. Could you also ",
            "Great, and now ", "OK. Please ", "Thanks, that helps. Now ",
        ),
        (
            "Then ", "Once you have that, ", "When that's done, please ", "And then ",
            "After that, please ",
        ),
        (
            "Oh, and please ", "While you're at it, ", "And could you also ",
        ),
        (
            "And last but not least, ", "Finally, please ", "And to wrap things up, ",
        ),
    ),
    "indirect": Style(
        (
            ("I was wondering if you could ", "."), ("It would be great if you could ", "."),
            ("Would it be possible for you to ", "?"), ("I'd be grateful if you could ", "."),
            ("Do you think you could ", "?"), ("It would help me a lot if you could ", "."),
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
            "Thank you. Please now ", "Thank you. I would now ask you to ", "Many thanks. Please ", "Very well. Please ",
        ),
        (
            "Thereafter, please ", "Following that, kindly ", "Once this is completed, please ",
        ),
        (
            "In addition, please ", "Furthermore, ", "I would also ask you to ", "Additionally, kindly ",
        ),
        (
            "Lastly, please ", "Finally, I would ask you to ",
        ),
    ),
    "hurried": Style(
        (
            ("Quick one: ", "."), ("I'm late, so please ", "."), ("ASAP please: ", "."), ("Can you quickly ", "?"),
            ("As fast as you can, please ", "."),
        ),
        (
            "Great. Quickly now: ", "OK, next: ", "Fine, please ", "Right, ", "Got it. Now ",
        ),
        (
            "Then ", "Right after that, ", "Next, ", "Immediately after, ",
        ),
        (
            "Also, ", "And ", "Oh and ",
        ),
        (
            "And finally ", "Last one: ",
        ),
    ),
    "casual": Style(
        (
            ("hey, ", ""), ("can you ", "?"), ("pls ", ""), ("hi, could you ", "?"), ("", ""), ("hey can you ", "?"),
        ),
        (
            "ok, now ", "thx. ", "ok and now ", "ah ok. pls ", "thx! now ",
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
ACKNOWLEDGED = ("Thanks.", "Okay.", "Good.", "I see.", "Thank you.", "Right.", "Good to know.", "OK, thanks.")
GREETINGS = ("Hi! ", "Hello! ", "Hi there! ", "Hey! ", "Hello there! ", "Hi, got a minute? ", "Hi again! ")
THANKS = (
    "Thanks!",
    "Thank you!",
    "Thanks a lot!",
    "Many thanks!",
    "Thanks in advance.",
    "Thank you very much.",
)
# Remarks before a request that say in which spot its writer is; what says nothing about that is nobody's to send.
ASIDES = (
    "I keep putting this off, so let's do it now.", "I'm working through my list for the week.",
    "I'm on my way out, so this has to be quick.", "I only have my phone with me.",
    "I'm on the train and the signal comes and goes.", "My hands are full, so you'll have to look.",
    "I'm standing in a queue with nothing else to do.",
    "I'm between two meetings.", "My laptop is being repaired, so I'm asking you.",
    "I've left my glasses at home and can't read the small print.", "I've only just come back from a fortnight away.",
    "I'm at the airport, waiting for boarding.", "I'm sorting out paperwork before the weekend.",
    "My screen is cracked and I can barely see anything on it.", "I'm stuck in traffic as a passenger.",
    "The power went off here and my battery is low.", "My memory is like a sieve these days.",
    "I'm in a noisy café and can't make calls.", "I've been interrupted twice already, so here goes.",
    "I'm waiting for the dentist to call me in.", "I promised myself I'd clear my desk today.",
    "I've mislaid the notebook where I keep all this.", "I've sprained my wrist, so typing is slow.",
    "My internet is painfully slow today.", "The website logs me out every time I try.",
    "I'm on the bus and nearly at my stop.", "I'm trying to be more organised this year.",
    "I've got someone on the other line.", "I'm sitting in the garden for once and don't want to get up.",
    "I made a list and this is at the top.", "The house is quiet for once.",
    "I've just switched phones and lost half my apps.", "I'm short of time today.",
    "My to-do list is longer than my arm.", "I'm in a taxi and nearly there.",
    "I'm in the waiting room at the optician's.", "My other tab has frozen.", "I can't find my own list any more.",
    "My phone is at four per cent.", "I'm carrying shopping bags, so I'll keep this short.",
    "I've lost my charger, so I'd better be brief.", "I'm in a lift that stops at every floor.",
    "I'm on a bench outside with patchy reception.", "My keyboard is sticking, so forgive any typos.",
    "I'm using a borrowed tablet.", "The sun is on my screen and I can't read a thing.",
    "I'm travelling and far from my usual screen.", "My password has expired again, so I'm asking you.",
    "I'm half asleep, so please be thorough.", "I've a bandaged thumb and typing hurts.",
    "My bag with all my notes is in the car.", "I'm at a platform and my train is delayed.",
    "I'm in the back row of a lecture, so no phone calls.", "I'm hoarse today, so I'm writing instead of ringing.",
    "A plumber is hammering on the pipes here, so bear with me.", "I'm balancing a tray and a telephone.",
    "A crumb has got under my keys and half the letters stick.",
    "There's a wasp in the room, so I'm writing from the corridor.",
    "I've been on hold with a helpline for an hour.", "The dog has chewed up my notes.",
    "I'm wrapped in a blanket with a cold.", "My printer has given up the ghost.",
    "I'm waiting for a kettle to boil.", "Somebody is drilling through a wall and I can't think straight.",
    "My toddler is asleep on my arm, so I'm typing with one finger.",
    "I'm sitting on the stairs because the doors won't open.",
    "The fire drill has just ended and I've lost my thread.", "I'm hiding from the rain under an awning.",
    "My bus has broken down.", "I've spilled coffee over my notes.",
    "I burned the toast and I've been behind ever since.", "I'm in the middle of changing a tyre.",
    "The decorators have covered my desk with a sheet.", "I've got jet lag, so I can't add two and two.",
    "My spectacles have steamed up, so I'm keeping this brief.",
    "I'm on a ferry and the reception is patchy.",
    "Somebody upstairs is practising the trumpet and I need a distraction.",
    "I've twisted my ankle and have to stay on the sofa.", "A pigeon on the windowsill keeps staring at me.",
    "I've locked myself out and have time to kill.", "I'm minding a stall at a fair and nobody is buying.",
    "My umbrella has just blown away.", "I'm having my hair cut, so you'll have to be my hands.",
    "I've sworn off procrastination, starting today.", "A colleague has borrowed my cable and vanished.",
    "The heating is broken and my fingers are stiff.",
    "My shoelaces snapped on the way and now I'm late for everything.",
    "I'm knitting with one hand and writing with the other.",
    "Between two sneezes, I've got something for you.", "My watch has stopped, so I'm hurrying to be safe.",
    "The baby has hidden my papers somewhere.", "I've dropped a contact lens and everything is blurred.",
    "I'm sheltering in a doorway until the hail passes.",
    "I've finally got back into my account after three attempts.", "I'm holding a ladder for somebody.",
    "My ears are still ringing from a rehearsal.", "I'm soaked to the skin and drying off on a radiator.",
    "The aquarium is leaking, so I'm mopping while I type.", "I'm babysitting very loud twins.",
    "A parade has closed every road, so I'm not going anywhere.",
    "My rucksack is caught in the turnstile, and I'm caught with it.",
    "I'm peeling potatoes, so don't expect long sentences.",
    "My tooth aches and I'd like to get this over with.", "I've run out of both paper and patience.",
    "I'm perched on a bar stool with a wobbly laptop.",
    "A moth has got into my lamp and the light keeps flickering.",
    "I'm supervising somebody's homework at the same time.",
    "My thumb is in a splint, so excuse my spelling.",
    "There's nothing to read here but old magazines, so I thought I'd be useful.",
    "I've found a bench in the shade at last.", "My lift is hooting outside.",
    "I need a breather from packing boxes.", "The cleaners want me out of the room in a minute.",
    "I'm carrying a cactus and can't put it down.", "Three people are talking to me at once.",
    "My tea has gone cold while I was looking for this on my own.",
    "I'm behind a tractor on a country lane, as a passenger.",
    "The choir next door is warming up, so I can't hear a word on the phone.",
    "My scarf is stuck in a zip and I only have one hand free.", "I've given up coffee, so I'm slow today.",
    "A squirrel has stolen my sandwich and my concentration.",
    "The projector won't start, which gives me a minute.",
)  # fmt: skip
