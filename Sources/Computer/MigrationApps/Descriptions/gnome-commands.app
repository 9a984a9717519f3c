# Keys: the schemas org.gnome.desktop.wm.keybindings, org.gnome.settings-daemon.plugins.media-keys,
# org.gnome.shell, org.gnome.system.proxy and org.gnome.Terminal. Custom shortcuts and terminals run
# commands, extensions are programs, and a proxy sees what is loaded.
[Application]
Id=gnome-commands
Name=Shortcuts, extensions, proxies and terminals of GNOME

[Settings]
Keys=/org/gnome/desktop/wm/keybindings/;/org/gnome/settings-daemon/plugins/media-keys/;/org/gnome/shell/keybindings/;/org/gnome/shell/enabled-extensions;/org/gnome/shell/extensions/;/org/gnome/terminal/legacy/;/system/proxy/mode;/system/proxy/autoconfig-url;/system/proxy/ignore-hosts;/system/proxy/http/host;/system/proxy/http/port;/system/proxy/https/host;/system/proxy/https/port;/system/proxy/socks/host;/system/proxy/socks/port;
