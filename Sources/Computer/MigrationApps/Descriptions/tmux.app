# Places: tmux(1), -f. A configuration can name commands, which tmux runs.
[Application]
Id=tmux
Name=tmux
Packages=tmux;
Programs=tmux;

[Data]
rc=home/.tmux.conf;
settings=config/tmux;
