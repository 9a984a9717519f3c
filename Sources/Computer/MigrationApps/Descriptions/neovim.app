# Places: Neovim's own help, ":help standard-path". An init file has commands, which Neovim runs;
# plug-ins under 'data' may have programs for the old computer's processor.
[Application]
Id=neovim
Name=Neovim
Packages=neovim;
Programs=nvim;

[Data]
settings=config/nvim;
data=data/nvim;
state=state/nvim;

[Exclude]
Patterns=/swap/;*.log;

[Start]
Files=state/shada;state/log;
