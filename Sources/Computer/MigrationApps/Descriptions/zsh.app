# Places: zsh(1), FILES. The shell runs these at each start.
[Application]
Id=zsh
Name=Z shell
Packages=zsh;
Programs=zsh;

[Data]
rc=home/.zshrc;
env=home/.zshenv;
profile=home/.zprofile;
login=home/.zlogin;
logout=home/.zlogout;
history=home/.zsh_history;

[Start]
Files=history;
