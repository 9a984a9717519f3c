# Places: wiki.inkscape.org, "Preferences": ~/.config/inkscape.
[Application]
Id=org.inkscape.Inkscape
Name=Inkscape
Packages=inkscape;
Programs=inkscape;

[Data]
settings=config/inkscape;flatpak/org.inkscape.Inkscape/config/inkscape;

[Exclude]
Patterns=extension-errors.log;

[Running]
Processes=inkscape;
