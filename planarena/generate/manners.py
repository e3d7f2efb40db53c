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
    "Hey there, ", "Hi, hope you're well! ", "Hello, me again, ", "Hi there! ",
    "Hey, quick favour before I leave: ", "Hey! ", "Hi, it's me. ", "Ah, there you are! ",
    "Hey, one for you: ", "Well, hello! ", "Hi again, ", "Hello! ", "Hello from the train! ",
    "Hi! Jet-lagged but functional. ", "Hello, last errand of the day. ",
    "Hello! Feet up, laptop on my knees. ", "Hey, typing with one thumb. ",
    "Hi there, baby on my arm. ", "Hello! Stuck in traffic as a passenger. ",
    "Hello! Tidying up loose ends. ", "Hello, slightly panicked today. ",
    "Hey! Waiting for the plumber. ", "Hi, got a minute? ", "Hello, hope your day is going well. ",
    "Hi! Just back from holiday. ", "Hey, sorry to bother you. ", "Hi, back at my desk at last. ",
)  # fmt: skip
THANKS = (
    "Thanks a lot!", "Thank you so much!", "Much appreciated.", "Thanks, you're a great help.",
    "Cheers!", "Thanks in advance.", "That would save my day.", "Thank you, talk soon.",
    "You're a lifesaver.", "Many thanks!", "I owe you one.", "Thanks for sorting this out.",
    "Thanks ever so much.", "No rush, and thank you.", "Thank you kindly.", "Appreciate it!",
    "I'd be lost without you.", "Brilliant, ta.", "I knew I could count on you.",
)  # fmt: skip
# Remarks before a request that say in which spot its writer is; what says nothing about that is nobody's to send.
ASIDES = (
    "I'm typing this on the train, so I'll keep it short.", "My glasses broke, so excuse the typos.",
    "We have builders in, so I can't phone.", "The internet here comes and goes, so all at once.",
    "I'm standing in a queue and have a moment.", "I'm on hold with somebody, so I have time for this.",
    "My notebook has gone missing, so I have to ask you.", "I only have my phone with me.",
    "My desk is covered in paper and I can't find a thing.",
    "The kids are finally asleep, so now for the paperwork.",
    "I'm trying to get through my list before lunch.", "I keep putting this off, so let's do it now.",
    "I'm working through my list for the week.", "I've just sat down with a coffee and my to-do list.",
    "My other screen has died, so I can't look it up myself.",
    "I'm on my way out, but this has been on my mind.", "I was going to do this yesterday and forgot.",
    "I'd do it myself, but my hands are full.", "I'm between two meetings.",
    "My train is late, so I may as well get this done.", "I've finally got a quiet half hour.",
     "Somebody reminded me of this today.",
    "I woke up thinking of this.", "I'm waiting for a call and clearing my list.",
    "My battery is nearly flat, so I'll be brief.",
)  # fmt: skip
