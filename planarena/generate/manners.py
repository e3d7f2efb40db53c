"""Manners of speaking: how requests open, go on, join and close, by register. British spelling; see `spelling`.

An opening that ends in "?" makes a question. What follows an opening is an imperative clause.
"""

from __future__ import annotations

import re
from functools import cache
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
    "fitting_asides",
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
    "I'm untangling fairy lights with my other hand.", "My violin lesson starts in a few minutes.",
    "A woodpecker outside is louder than my thoughts.",
    "I'm defrosting the freezer, so there are puddles everywhere.", "The dishwasher has flooded half the floor.",
    "I'm wedged into a middle seat on a coach.",
    "My gloves don't work on a touchscreen, so I've only my nose to type with.",
    "I'm polishing silver and my fingers are black.", "I'm waiting for varnish to dry.",
    "The escalator has stopped and nobody is moving.", "A wheel has come off my suitcase.",
    "I'm assembling a wardrobe and one screw is missing, so I'm taking a break.",
    "I've bitten my tongue and would rather write than talk.", "I'm plucking feathers out of a duvet that burst.",
    "A street musician is playing the accordion right under my window.",
    "The lights in this archive are on a timer and go out every five minutes.",
    "I'm repotting geraniums and there's soil on the screen.",
    "I'm crouching beside a socket because my cord is so short.", "Hiccups won't let me finish a phone call.",
    "My hammock is too comfortable to get up from.", "I'm grating cheese for a crowd.",
    "There's a tortoise asleep on my papers.", "I've glued two fingers together by accident.",
    "I'm in a sauna lobby with fogged-up glasses.", "My neighbour's alarm has been wailing since dawn.",
    "I'm trapped under a sleeping cat.", "A gust has scattered my papers all over the courtyard.",
    "I'm on the touchline at a hockey match.", "The vending machine has swallowed my last coin, so I'm in a mood.",
    "I'm rehearsing a toast and can't concentrate on anything else.",
    "My bicycle chain came off and my hands are covered in oil.", "I'm painting a fence and my sleeves are wet.",
    "The satnav has sent me down a dead end, so I'm parked.", "I'm half listening to a very dull webinar.",
    "I've got hay fever and can hardly see the screen.", "My calculator has lost its minus key.",
    "I'm watching a pot of jam that mustn't catch.", "There's a queue at the copier and I'm the seventh.",
    "I'm icing forty cupcakes.", "I've swallowed a fly and am still coughing.",
    "A scaffold blocks all the daylight here.", "I'm stirring risotto, so I can't let go of the spoon.",
    "My mouse has a flat battery.", "I'm folding origami swans for a table.",
    "The tram has stopped between two stations.", "I'm stretched out on the carpet with a bad back.",
    "My stapler jammed and I lost my temper.",
    "The goats next door have broken through the hedge, so it's a little hectic.",
    "I'm whispering on purpose: there's a chess tournament in here.", "I'm ironing eleven shirts.",
    "My earphones are in the washing machine.", "I'm winding wool into balls.",
    "A tree has fallen across the lane and I'm stuck at home.", "I'm at the barber's, under a very warm towel.",
    "I'm hemming curtains and have pins between my lips.", "My chair squeaks and everybody is glaring at me.",
    "I've caught a chill and keep dozing off.", "I'm queueing for a museum in the drizzle.",
    "The chimney sweep has covered everything in soot.", "I'm weeding between paving stones.",
    "I've dropped my stylus down a drain.", "I'm keeping an eye on a bonfire.",
    "My horoscope told me to get organised today.", "I'm juggling two telephones and a sandwich.",
    "A swan won't let me off this jetty.", "I'm in a rowing boat and drifting slightly.",
    "I've got paint in my hair and a deadline.", "My crossword is finished, so I have no more excuses.",
    "I'm descaling the coffee machine.", "There's a brass band in the square and the windows are rattling.",
    "I'm on crutches this month, so every trip upstairs counts.", "I've trodden on my reading glasses.",
    "The thermostat has gone haywire and I'm wearing two coats.", "I'm shelling peas on the porch.",
    "My satchel strap tore on the way here.", "I'm at a launderette with nine minutes left on the dryer.",
    "The receptionist has told me to wait another quarter of an hour.", "I'm tuning a banjo, badly.",
    "I've scalded my palm on a saucepan.", "A hen is sitting on my keyboard tray.",
    "I'm labelling jars for a bazaar.", "I'm being fitted for a suit and mustn't move.",
    "Our corridor smells of fresh tar, so I've fled to the yard.", "I'm weighing out flour with one eye on the oven.",
    "The elevator music here is driving me mad.", "I'm tiptoeing round a freshly mopped floor.",
    "I'm bottling cider in a shed.", "My laces, my zip and my pen have all let me down this morning.",
    "I'm scraping ice off a windscreen.", "I've a stiff neck and can't look at two screens.",
    "I'm threading beads with a six-year-old.",
    "A cricket has settled behind the radiator and chirps without a pause.",
    "I'm whittling a spoon to calm my nerves.", "I'm in the wings, waiting for my cue.",
    "The marquee is flapping so loudly that I can't hear the phone.", "I'm brushing a very unwilling poodle.",
    "I've run up four flights, so give me a moment to breathe.", "My porridge boiled over.",
    "I'm planting tulip bulbs before the frost.",
    "The turnips won't chop themselves, so I'm doing two things at once.",
    "I'm stuffing envelopes for a jumble sale.", "The ceiling fan keeps blowing my pages away.",
    "I'm pinned down by a stack of unread magazines.", "My moped has run out of petrol.",
    "I'm steeping nettles for a soup and they sting.", "A kite is tangled in my aerial.",
    "I'm grooming a Shetland pony, so my reply may be slow.",
    "My lipstick has melted all over my handbag and its contents.",
    "The organist is practising and the floor trembles.", "I'm sanding a banister in a cloud of dust.",
    "I'm crammed into a photo booth with four cousins.", "I've mistaken salt for sugar and must start a cake again.",
    "My contact at reception has gone to lunch, so I'm on my own.", "I'm splicing rope on a pier.",
    "A magpie has taken my earring.", "I'm feeding lambs with a bottle.",
    "The roof is dripping into a saucepan beside me.", "I've been roped into judging marrows at a village show.",
    "My wellies are full of water.", "I'm waxing skis and my hands are slippery.",
    "The cinema trailers are about to begin.", "I'm glazing a bowl and can't put the brush down.",
    "I'm propped up on pillows with a fever.", "A hedgehog has moved into my shed, so I'm outside.",
    "My sourdough needs folding in ten minutes.", "The tannoy here never pauses for breath.",
    "I'm crossing a very wobbly footbridge.", "I'm learning to type with ten fingers, so this is an exercise.",
    "I'm whisking egg whites and mustn't stop.", "I'm bundled up on a freezing platform.",
    "My violin string has snapped.", "I've got flippers on and can't walk anywhere.",
    "The conductor is checking tickets.", "I'm chipping old plaster off a wall.",
    "I'm strapped into a dentist's chair, waiting for the injection to work.",
    "A beetle is crawling across my screen.", "I'm shovelling gravel between messages.",
    "I've drawn the short straw and do the errands today.", "I'm sewing sequins on a costume.",
    "The hotel lobby is swarming with a wedding party.", "My balcony is covered in starlings.",
    "I'm sieving compost.", "I'm crouching under a desk, looking for a cable.",
    "The beekeeper's hood makes it hard to see.", "My crutch fell down a flight of stairs.",
    "I'm drying herbs and everything smells of thyme.", "A ladybird has landed on the delete key.",
    "I'm plaiting somebody's hair.", "I'm stamping two hundred loyalty cards by hand.",
    "The car wash won't let me out yet.", "I'm carving a pumpkin.", "I'm up a stepladder with a paintbrush.",
    "The bookbinder's glue has got everywhere.", "I'm sipping ginger tea with a sore throat.",
    "I'm squeezed between two double basses in a van.",
    "My quill pen phase is over, so I'm writing on a phone again.", "I'm lacing up skates with numb hands.",
    "A cement mixer is rumbling outside.", "I'm rinsing paint out of a roller.",
    "I'm stranded at a roundabout with a puncture.",
    "The canteen has run out of cutlery, so I'm eating yoghurt with a ruler.",
    "I'm pressing flowers under a dictionary.", "My parrot repeats every word I say aloud, so I'd rather write.",
    "I'm wiping fingerprints off a showcase.", "I'm basting a turkey.", "I've pulled a muscle sneezing.",
    "The gondola has stopped halfway up the mountain.", "I'm cataloguing butterflies and mustn't breathe too hard.",
    "I'm sorting buttons by size.", "There's sawdust in my keyboard.", "My snorkel has leaked on my notes.",
    "I'm pruning roses in thick gloves.", "The lighthouse stairs have worn me out.", "I'm wringing out a tent.",
    "A jackdaw is hammering at the skylight.", "I'm filleting mackerel, so I'm dictating this.",
    "I'm trimming candle wicks for a vigil.", "My trolley has a mind of its own.",
    "I'm tethered to a charging point in a hallway.", "The fountain sprays everything I hold.",
    "I'm bowling in ten minutes.", "I'm unrolling a carpet with my feet.", "A drummer has moved in below me.",
    "I'm peeling labels off crates.", "I'm buttoning a squirming child into a raincoat.", "My scooter is clamped.",
    "I'm inflating forty balloons.", "The curtain goes up shortly and I'm still in the foyer.",
    "I'm kneading dough, elbow-deep.", "The laundry line has come down in the mud.", "I'm cleaning a tuba.",
    "My compass points the wrong way, so I'm resting on a stump.", "I'm thawing out after a swim in the lake.",
    "A fox has run off with my slipper.", "I'm stacking firewood.", "I'm snapping beans into a colander.",
    "The magician next to me keeps pulling coins from my ear.", "I'm embroidering initials on a towel.",
    "My telescope has fogged up, so the comet has to wait.", "I'm measuring skirting boards.",
    "The bell tower is right above me.", "I'm sucking a lozenge and can't speak.",
    "I'm rolling dumplings on a floury table.", "A leaf blower has been roaring since breakfast.",
    "I'm darning socks.", "I'm slicing onions and crying over the screen.",
)  # fmt: skip

# What a remark is about, and the requests that it would contradict or be taken for a part of: who has twisted an ankle
# books no class, and where the heating is broken nobody asks for a warmer room [ours].
_APART = tuple(
    (re.compile(rf"\b({remark})\b", re.IGNORECASE), re.compile(rf"\b({request})\b", re.IGNORECASE))
    for remark, request in (
        (
            r"ankle|neck|back|fever|chill|cold|throat|splint|crutch|wrist|thumb|dentist's?|optician's|muscle|coughing|dozing|fingers|swim|flights",
            r"class(es)?|gym|train(er|ing)|coach|locker|doctor|prescription|patient|referral|appointments?|clinic|pharmacy",
        ),
        (
            r"heating|thermostat|power|lamp|light|alarm",
            r"heating|thermostat|lights?|lamp|room|degrees|warm(er)?|meter|electricity|tariff|alarms?",
        ),
        (
            r"airport|train|ferry|bus|platform|tickets|hotel|travelling|gondola|roundabout|car|moped|petrol|scooter|windscreen",
            r"flights?|trains?|hotel|tickets?|trip|car|vehicle|parking|garage|workshop|charg\w+|odometer|van|drive\w*",
        ),
        (
            r"oven|fridge|flour|mackerel|turkey|dumplings|dough|egg|onions|beans|peas|porridge|sourdough|tea|sandwich|yoghurt",
            r"recipes?|dish(es)?|dinners?|menu|meals?|shopping list|pantry|ingredients?|cook|guests?|wedding",
        ),
        (r"mouse|keyboard|screen|laptop|cable|wi-?fi|internet", r"machine|server|repository|build|outage"),
        (r"rehearsal|choir|trumpet|drummer|violin|tuba", r"song|playlist|album|concert|lesson"),
        (r"queue|post|counter", r"queue|ticket|parcel"),
    )
)


@cache
def _subjects(remark: str) -> frozenset[int]:
    return frozenset(place for place, (about, _) in enumerate(_APART) if about.search(remark))


def fitting_asides(request: str) -> list[str]:
    """Return the remarks about where their writer is that do not touch on what a request is about.

    Example:
        >>> "I've twisted my ankle and have to stay on the sofa." in fitting_asides("Book me the yoga class.")
        False
    """
    touched = {place for place, (_, asked) in enumerate(_APART) if asked.search(request)}
    return [remark for remark in ASIDES if not _subjects(remark) & touched]
