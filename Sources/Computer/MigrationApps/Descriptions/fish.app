# Places: fishshell.com/docs, "Configuration files" and "history". The shell runs these at each
# start.
[Application]
Id=fish
Name=fish
Packages=fish;
Programs=fish;

[Data]
settings=config/fish;
data=data/fish;

[Exclude]
Patterns=generated_completions/;fish_variables.*;

[Start]
Files=data/fish_history;settings/fish_variables;
