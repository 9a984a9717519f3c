# Places: Vim's own help, ":help vimrc" and ":help viminfo". A vimrc has commands, which Vim runs.
[Application]
Id=vim
Name=Vim
Packages=vim;
Programs=vim;vim.basic;vim.tiny;

[Data]
rc=home/.vimrc;
folder=home/.vim;
settings=config/vim;
info=home/.viminfo;

[Exclude]
Patterns=*.swp;*.swo;/swap/;

[Start]
Files=info;
