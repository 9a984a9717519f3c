"""The answers of the file systems of Lab/files, question by question."""

import json
import os
import shutil

from lab_disks import DESTINATION
from lab_machine import Machine
from outside import Failure, check_line, tool


def probe(parts, work, disks):
    """Asks each file system, and prints the answers of all for each question; returns whether all
    of them could be asked."""
    shutil.copy(tool("disk_probe.py"), work)
    answers = {}
    for disk in disks:
        try:
            answers[disk.name] = ask(parts, work, disk)
        except Failure as failure:
            print(check_line(disk.name, "FAILED", str(failure)), flush=True)
    show(answers)
    return len(answers) == len(disks)


def ask(parts, work, disk):
    images = disk.images(work)
    machine = Machine(parts, work, images, disk.shares(work), seconds=600)
    try:
        disk.prepare(machine)
        return json.loads(machine.run("python3", "/lab/disk_probe.py", DESTINATION, "--large", seconds=400))
    finally:
        machine.end()
        for path in images:
            os.remove(path)


def show(answers):
    questions = list(dict.fromkeys(question for found in answers.values() for question in found))
    for question in questions:
        groups = {}
        for name, found in answers.items():
            groups.setdefault(found.get(question, "not asked"), []).append(name)
        print(f"{question}: " + "; ".join(f"{answer} ({', '.join(names)})" if len(groups) > 1 else answer for answer, names in groups.items()))
