# Keys: the schemas org.gnome.desktop.*, org.gnome.nautilus and org.gnome.mutter of
# gsettings-desktop-schemas, Nautilus and Mutter; the values lie in ~/.config/dconf/user, and dconf(1)
# reads and writes them.
[Application]
Id=gnome-settings
Name=Settings of GNOME

[Settings]
Keys=/org/gnome/desktop/interface/;/org/gnome/desktop/background/;/org/gnome/desktop/input-sources/;/org/gnome/desktop/peripherals/;/org/gnome/desktop/sound/;/org/gnome/desktop/calendar/;/org/gnome/desktop/wm/preferences/;/org/gnome/nautilus/preferences/;/org/gnome/nautilus/list-view/;/org/gnome/nautilus/icon-view/;/org/gnome/shell/favorite-apps;/org/gnome/mutter/dynamic-workspaces;/org/gnome/mutter/workspaces-only-on-primary;/org/gnome/mutter/edge-tiling;

[Home]
Files=dconf;
