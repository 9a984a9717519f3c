# Places: fontconfig's user documentation, fonts-conf(5).
[Application]
Id=fonts
Name=Fonts
Packages=fontconfig;
Programs=fc-cache;

[Data]
fonts=data/fonts;
older=home/.fonts;
settings=config/fontconfig;

[Exclude]
Patterns=.uuid;fonts.cache-*;
