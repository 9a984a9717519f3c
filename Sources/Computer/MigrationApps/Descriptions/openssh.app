# Places: ssh(1), FILES. ssh_config(5) can name commands (ProxyCommand, Match exec), which ssh
# runs.
[Application]
Id=openssh
Name=OpenSSH
Packages=openssh-client;
Programs=ssh;
Secret=yes

[Data]
home=home/.ssh;

[Exclude]
Patterns=agent.*;*.sock;/cm/;/sockets/;
