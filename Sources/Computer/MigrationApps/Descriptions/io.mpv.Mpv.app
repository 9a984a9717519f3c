# Places: mpv(1), FILES. It may have scripts, which mpv runs.
[Application]
Id=io.mpv.Mpv
Name=mpv
Packages=mpv;
Programs=mpv;

[Data]
settings=config/mpv;flatpak/io.mpv.Mpv/config/mpv;

[Exclude]
Patterns=/watch_later/;

[Running]
Processes=mpv;
