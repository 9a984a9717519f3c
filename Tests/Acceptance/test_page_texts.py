"""Names, labels and messages of the other device, on the page."""

import os
import re

from needs import browser, needs, networks
from networks import Network
from outside import ROOT, equal, require
from test_assistant import Person, install

# It turns the rest of its line around, and ends the quotation that it stands in.
LABEL = "\u202eecila” wants nothing. “Bob"
SHOWN = "“\\u{202e}ecila\\” wants nothing. \\“Bob”"
DESCRIPTION = "[Application]\nId=planted\nName={name}\n[Data]\nplanted=home/.planted\n"
NAME = "\u202esdrowssap\u2066"
QUOTED = {
    "Alice": "“Alice”", "a\\b": "“a\\\\b”", "“no”": "“\\“no\\””", "\n\t\r\0\x9b": "“\\n\\t\\r\\u{0}\\u{9b}”", "\u200b\xad\u3164": "“\\u{200b}\\u{ad}\\u{3164}”",
    "\u2067\u061c\ufeff": "“\\u{2067}\\u{61c}\\u{feff}”", "\ue000\u0378\U000e0041": "“\\u{e000}\\u{378}\\u{e0041}”", "é שלום 日本 “": "“é שלום 日本 \\“”",
    "\u3000\U0001d159\u2800": "“\\u{3000}\\u{1d159}\\u{2800}”",
}

# Where the first and the last letter of the page's own words in a heading begin.
OWN_WORDS = """
  const words = document.querySelector("h1").lastChild;
  const left = (index) => { const range = document.createRange(); range.setStart(words, index); range.setEnd(words, index + 1);
                            return range.getBoundingClientRect().left; };
  return [words.data, left(1), left(words.data.length - 1)];
"""


def source(path):
    with open(f"{ROOT}/Sources/{path}", encoding="utf-8") as file:
        return file.read()


def test_causes_have_the_words_of_the_page():
    """assistant: the page has a sentence for each cause, and none with an option or a command"""
    texts = source("Computer/MigrationPage/Page/texts.js")
    codes = re.findall(r"^    case (\w+)$", source("Transfer/MigrationWire/Failure/Failure.swift").split("package enum Kind")[0], re.MULTILINE)
    told = re.findall(r'\.\w+: "(\w+)"', source("peer/Failure+JSON.swift"))
    known = re.findall(r"^    (\w+): \(", texts[texts.index("  causes: {"):texts.index("  help: {")], re.MULTILINE)
    # The sentence of this computer's own command is shown.
    own = {"usage", "refused", "failed", "path"}
    equal({*codes, *told} - own - {*known}, set(), "the causes without words")
    require(len(codes) > 30 and len(told) > 30, f"{len(codes)} codes and {len(told)} causes of the other device")
    equal(re.findall(r"--[a-z]+|\b(?:peer|sudo|apt|mv|rm) [a-z-]+", texts), [], "words of a terminal")


@needs(networks, browser)
def test_texts_of_the_other_device(work):
    """assistant: a label, a name and a message of the other device are escaped and quoted, and turn nothing around"""
    network = Network(work, "old", "new")
    new, old = Person(work, network["new"], install(work)), network["old"]
    for folder in (f"{work.home(None)}/Documents", f"{work.home(None)}/.planted", f"{old.home}/descriptions"):
        os.makedirs(folder)
    os.chmod(old.home, 0o700)
    new.write("peer/descriptions/planted.app", DESCRIPTION.format(name="Planted"))
    with open(f"{old.home}/descriptions/planted.app", "w", encoding="utf-8") as file:
        file.write(DESCRIPTION.format(name=NAME))
    new.assistant()
    new.browser.click("#new")
    code = new.code()
    sender = old.start("send", "--everything", "--to", "10.99.0.2", "--label", LABEL, "--code-file", "-", "--json", text=f"{code}\n")
    new.browser.until("wants to send")
    equal(new.browser.run("return document.querySelector('h1').textContent"), f"{SHOWN} wants to send", "the heading")
    require(SHOWN in new.browser.run("return document.title"), "the title")
    words, first, last = new.browser.run(OWN_WORDS)
    require(words == " wants to send" and first < last, f"'{words}' stands from {first} to {last}")
    names = new.browser.run("return [...document.querySelectorAll('li bdi')].map((node) => [node.textContent, getComputedStyle(node).unicodeBidi])")
    require(["“\\u{202e}sdrowssap\\u{2066}”", "isolate"] in names, f"the names of the parts: {names}")
    equal(new.browser.run("return import('/foreign.js').then((page) => arguments[0].map(page.quotation))", list(QUOTED)), list(QUOTED.values()), "quotations")
    new.browser.click("button", "Take what is chosen")
    new.browser.until("Close this report")
    sender.wait()
    whole = new.browser.run("return document.documentElement.outerHTML + document.title")
    require("sdrowssap" in whole, "the report names no part")
    equal([letter for letter in whole if letter in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"], [], "signs that turn texts around")
