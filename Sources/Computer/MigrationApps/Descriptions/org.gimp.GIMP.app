# Places: gimprc(5): $XDG_CONFIG_HOME/GIMP/VERSION; the versions lie beside each other.
[Application]
Id=org.gimp.GIMP
Name=GIMP
Packages=gimp;
Programs=gimp;

[Data]
settings=config/GIMP;flatpak/org.gimp.GIMP/config/GIMP;

[Exclude]
Patterns=tmp/;

[Running]
Processes=gimp;gimp-2.10;gimp-3.0;
