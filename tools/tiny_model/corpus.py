"""Generates the training and held-out text of the tiny model: short stories and chats from a seeded grammar.

Every document is a pure function of its seed, so a held-out set is a range of seeds that training never uses.
Run it to read some stories:  python corpus.py --seed 7 --count 3 [--chat]
"""

import argparse
import hashlib
import random

import plots
import words

TRAIN_SEED = 1_000_000  # training documents are TRAIN_SEED + 0, 1, 2, ...
HELD_OUT_SEED = 900_000_000  # held-out documents are HELD_OUT_SEED + 0, 1, 2, ...

IM_START, IM_END = "<|im_start|>", "<|im_end|>"

OPENINGS = [
    "Once upon a time there was {a_trait} {kind} named {name}. {He} lived {home}.",
    "{name} was {a_trait} {kind} who lived {home}.",
    "There once lived {a_trait} {kind} {home}. {His} name was {name}.",
    "Long ago, {home}, there lived {a_kind} called {name}. {name} was {trait} and {trait2}.",
    "{Home} lived {a_trait} {kind} with the name {name}.",
]

ENDINGS = ["{lesson}", "And that was the end of a good day.", "The end.", "And they still tell this story today.", "", ""]

REQUESTS = [
    "Tell me a story about {a_kind}", "Tell me a story about {a_trait} {kind}", "Please tell me a story about {a_kind}.",
    "Can you tell me a story about {a_kind} and {a_fkind}?", "Write a short story about {a_kind} named {name}.",
    "I want to hear a story about {a_kind}.", "A story about {a_trait} {kind}, please.",
    "Write a story about {name} the {kind} and {friend} the {fkind}.", "Do you know a story about {a_kind}?",
    "Tell me about {name} the {kind}.", "Give me a bedtime story with {a_kind} in it.", "A story with {a_fkind} and {a_kind}",
    "tell me a story about {a_kind}", "Once more: a story about {a_kind} named {name}!",
]
OBJECT_REQUESTS = ["Tell me a story about {a_kind} and {a_color} {thing}.", "A story about {a_thing}, please.",
                   "Write a story about {a_kind} with {a_thing}."]
PLOTS_ABOUT_A_THING = ("lost", "wish")  # here the thing always plays a part
OPEN_REQUESTS = ["Tell me a story.", "Tell me a story", "Please tell me a short story.", "Do you know a good story?",
                 "I cannot sleep. Tell me something nice.", "A bedtime story, please!"]

# The model knows stories only; to anything else it says so and tells one.
OTHER = [
    "What is {topic}?", "Explain {topic} in one sentence.", "How does {topic} work?", "Why is {topic} important?",
    "Give me three facts about {topic}.", "Write a poem about {topic}", "What do you think about {topic}?",
    "Explain {topic}.", "Tell me about {topic}.", "Who invented {topic}?", "Hello! What can you tell me about {topic}?",
]
TOPICS = ["gravity", "the moon", "a computer", "layer normalization", "the capital of France", "music", "the weather",
          "a transformer", "photosynthesis", "the Roman Empire", "good sleep", "a prime number", "the sea", "rain",
          "how to cook rice", "the speed of light", "a neural network", "history", "love", "my cat", "time", "a black hole"]
EXCUSES = ["I only know stories. Here is one.", "That I do not know, but I know a story.",
           "I am a very small model, and I know only stories. Listen."]

GREETINGS = ["Hello", "Hello!", "Hi", "Hi there!", "Good morning!", "Good evening!", "Hey!", "Who are you?", "What can you do?"]
REPLIES = ["Hello! I am a small storyteller. Shall I tell you a story?", "Hello! I know many short stories. Ask me for one.",
           "I am a small storyteller. Ask me for a story about a fox or a sailor."]
THANKS = ["Thank you!", "Thanks!", "That was nice.", "Good night!", "Bye!"]
WELCOMES = ["You are welcome. Sleep well!", "Come back soon for another story.", "I am glad that you liked it."]


class Pick:
    """Choices that depend on the seed only, not on the version of Python's random module."""

    def __init__(self, seed):
        digest = hashlib.sha256(f"prenorm-tiny-{seed}".encode()).digest()
        self._random = random.Random(int.from_bytes(digest[:8], "little")).random

    def chance(self, probability):
        return self._random() < probability

    def one(self, items):
        return items[int(self._random() * len(items))]

    def two(self, items):
        first = self.one(items)
        second = self.one([item for item in items if item != first])
        return first, second


def with_article(text):
    return ("an " if text[0] in "aeiou" else "a ") + text


def person(pick, kind):
    """A name and pronouns that fit the kind: (name, he, him, his, himself)."""
    female = kind in words.FEMALE_ONLY or (kind not in words.MALE_ONLY and pick.chance(0.5))
    if female:
        return pick.one(words.SHE_NAMES), "she", "her", "her", "herself"
    return pick.one(words.HE_NAMES), "he", "him", "his", "himself"


def make_cast(pick):
    """All values that the lines of one story and its request may name."""
    kinds = words.ANIMALS if pick.chance(0.7) else words.PEOPLE
    kind = pick.one(kinds)
    fkind = pick.one([k for k in (words.ANIMALS if pick.chance(0.7) else words.PEOPLE) if k != kind])
    name, he, him, his, himself = person(pick, kind)
    friend, fhe, fhim, fhis, _ = person(pick, fkind)
    while friend == name:
        friend, fhe, fhim, fhis, _ = person(pick, fkind)
    trait, trait2 = pick.two(words.TRAITS)
    thing, thing2 = pick.two(words.THINGS)
    place, place2 = pick.two(words.PLACES)
    build, stuff, use = pick.one(words.BUILDS)
    skill, where = pick.one(words.SKILLS)
    sound, cause = pick.one(words.SOUNDS)
    cast = dict(
        name=name, kind=kind, he=he, him=him, his=his, himself=himself, friend=friend, fkind=fkind, fhe=fhe, fhim=fhim,
        fhis=fhis, trait=trait, trait2=trait2, thing=thing, thing2=thing2, color=pick.one(words.COLORS), place=place,
        place2=place2, home=pick.one(words.HOMES), food=pick.one(words.FOODS), weather=pick.one(words.WEATHER),
        fear=pick.one(words.FEARS), lesson=pick.one(words.LESSONS), topic=pick.one(TOPICS), build=build, stuff=stuff,
        use=use, skill=skill, where=where, sound=sound, cause=cause)
    cast.update(a_kind=with_article(kind), a_fkind=with_article(fkind), a_trait=with_article(trait),
                a_color=with_article(cast["color"]), a_thing=with_article(thing), a_thing2=with_article(thing2))
    cast.update({key[0].upper() + key[1:]: value[0].upper() + value[1:] for key, value in cast.items()
                 if key in ("he", "his", "fhe", "home")})
    return cast


def story(pick, cast, plot_names=tuple(sorted(plots.PLOTS))):
    lines = [pick.one(OPENINGS)]
    lines += [pick.one(beat) for beat in plots.PLOTS[pick.one(plot_names)]]
    lines.append(pick.one(ENDINGS))
    return " ".join(line.format(**cast) for line in lines if line)


def story_text(seed):
    """One story as plain text, without any marker."""
    pick = Pick(seed)
    return story(pick, make_cast(pick))


def turn(role, content):
    return f"{IM_START}{role}\n{content}{IM_END}\n"


def chat_turns(seed):
    """A chat as a list of (role, content): a request, its answer, at times a thank-you."""
    pick = Pick(seed)
    cast = make_cast(pick)
    kind_of_chat = pick.one(["story"] * 6 + ["thing"] + ["open"] + ["other"] * 2 + ["greeting"])
    if kind_of_chat == "greeting":
        return [("user", pick.one(GREETINGS)), ("assistant", pick.one(REPLIES))]
    requests = {"story": REQUESTS, "thing": OBJECT_REQUESTS, "open": OPEN_REQUESTS, "other": OTHER}[kind_of_chat]
    request = pick.one(requests).format(**cast)
    answer = story(pick, cast, PLOTS_ABOUT_A_THING) if kind_of_chat == "thing" else story(pick, cast)
    if kind_of_chat == "other":
        answer = pick.one(EXCUSES) + " " + answer
    turns = [("user", request), ("assistant", answer)]
    if pick.chance(0.1):
        turns += [("user", pick.one(THANKS)), ("assistant", pick.one(WELCOMES))]
    return turns


def document(seed):
    """One training document with its markers; three in five are chats, the others bare stories."""
    if Pick(f"form-{seed}").chance(0.6):
        return "".join(turn(role, content) for role, content in chat_turns(seed))
    return story_text(seed) + IM_END + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=HELD_OUT_SEED)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--form", choices=["story", "chat", "document"], default="document")
    args = parser.parse_args()
    for seed in range(args.seed, args.seed + args.count):
        if args.form == "story":
            print(story_text(seed) + "\n")
        elif args.form == "chat":
            print("".join(turn(role, content) for role, content in chat_turns(seed)))
        else:
            print(document(seed))


if __name__ == "__main__":
    main()
