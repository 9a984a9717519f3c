# Places: bash(1), FILES, and readline(3), FILES. Bash runs these at each start.
[Application]
Id=bash
Name=Bash
Packages=bash;
Programs=bash;

[Data]
rc=home/.bashrc;
profile=home/.bash_profile;
login=home/.bash_login;
sh-profile=home/.profile;
logout=home/.bash_logout;
aliases=home/.bash_aliases;
history=home/.bash_history;
inputrc=home/.inputrc;

[Start]
Files=history;
