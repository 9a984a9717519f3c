# Places: GNU Emacs Manual, "How Emacs Finds Your Init File". An init file has commands, which
# Emacs runs.
[Application]
Id=emacs
Name=Emacs
Packages=emacs;
Programs=emacs;

[Data]
init=home/.emacs;
folder=home/.emacs.d;
settings=config/emacs;

[Exclude]
Patterns=eln-cache/;/server/;.#*;
