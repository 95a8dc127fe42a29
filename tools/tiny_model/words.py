"""Word lists of the story grammar: who, where, what. All phrases are our own.

Names and kinds are few, so that nearly all become single tokens: a model this small learns to repeat a hero's name
from early in the story only then.
"""

ANIMALS = """fox owl hedgehog rabbit mouse bear otter squirrel badger duck frog cat dog goat crow turtle deer
goose""".split()

PEOPLE = "girl boy baker gardener shepherd sailor miller painter farmer".split()

SHE_NAMES = "Mia Lena Nora Ada Ruby Ivy Clara Tess".split()
HE_NAMES = "Tom Finn Otto Ben Hugo Leo Max Pip".split()

FEMALE_ONLY = {"girl"}
MALE_ONLY = {"boy"}

TRAITS = """small brave shy curious clever kind quiet cheerful patient sleepy gentle careful proud lonely
honest stubborn""".split()

HOMES = [
    "in a little house by the river",
    "at the edge of a green forest",
    "under an old oak tree",
    "near a windy hill",
    "in a village by the sea",
    "beside a deep blue lake",
    "behind the stone mill",
    "on a farm at the end of a long road",
    "in a warm burrow under the hedge",
    "at the foot of a tall mountain",
    "in a town with a round market square",
    "next to a field of yellow flowers",
]

# Places a hero can walk to; each reads well after "to", "at" and "near".
PLACES = [
    "the old bridge", "the apple garden", "the market", "the dark wood", "the lighthouse", "the mill pond",
    "the hollow tree", "the high meadow", "the stone well", "the harbor", "the quiet valley", "the broken tower",
    "the sandy beach", "the berry bushes", "the frozen stream", "the hill of stones",
]

# Things that can be owned, lost, found and carried.
THINGS = """kite lantern bell boat drum scarf map key basket flute blanket hat ball book coin ring whistle
feather""".split()

COLORS = "red blue green yellow silver golden white brown".split()

FOODS = ["apples", "warm bread", "plum cake", "honey", "nut pie", "berries", "pea soup", "pancakes", "pears", "oat cookies"]

# Work: (what is built, what it is made of, what it is good for).
BUILDS = [
    ("a raft", "old boards and rope", "cross the river"),
    ("a bridge", "flat stones", "cross the stream without wet feet"),
    ("a tree house", "branches and nails", "watch the stars"),
    ("a wagon", "two wheels and a box", "carry the harvest home"),
    ("a bench", "a fallen log", "rest in the evening sun"),
    ("a windmill", "sticks and cloth", "grind the corn"),
    ("a snow house", "blocks of snow", "keep out the cold wind"),
    ("a swing", "a rope and a plank", "fly up to the leaves"),
]

SKILLS = [
    ("swim", "in the cold pond"), ("whistle", "behind the barn"), ("bake bread", "in the small kitchen"),
    ("climb", "on the garden wall"), ("read", "under the lamp"), ("dance", "on the wooden floor"),
    ("skate", "on the thin ice"), ("sing", "in the empty barn"), ("sew", "by the window"), ("row", "on the calm lake"),
]

WEATHER = ["sunny", "rainy", "cold", "windy", "foggy", "warm", "bright", "gray"]

# Sounds of the night: (sound, what it turned out to be).
SOUNDS = [
    ("a soft tapping", "a branch at the window"),
    ("a long howl", "the wind in the chimney"),
    ("a sad little cry", "a kitten on the roof"),
    ("a low humming", "a beehive in the wall"),
    ("a loud splash", "a fish in the rain barrel"),
    ("a slow creak", "the garden gate"),
    ("a quick scratching", "a beetle in a paper box"),
    ("a thin song", "a bird that could not sleep"),
]

FEARS = ["the dark", "deep water", "thunder", "high places", "big dogs", "the old cellar", "loud noises", "the long tunnel"]

LESSONS = [
    "A small light is enough to find the way.",
    "Good friends make heavy things light.",
    "What we share is never lost.",
    "Slow steps also reach the top.",
    "It is brave to ask for help.",
    "A kind word costs nothing.",
    "Even a small hand can do great things.",
    "The best things take a little time.",
]
