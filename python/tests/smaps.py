"""What /proc says of the memory of a mapping."""

import collections
import pathlib


def kilobytes_of(mapping, pid="self"):
    """Of the mappings of a process whose names end so, summed by kind ("Shared_Clean", "Private_Dirty", ...)."""
    sums, inside = collections.Counter(), False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if "-" in name.split(" ")[0]:
            inside = line.endswith(mapping)
        elif inside and rest.endswith(" kB"):
            sums[name] += int(rest.split()[0])
    return sums
