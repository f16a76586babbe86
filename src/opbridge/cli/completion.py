"""opbridge completion: print a script that lets a shell complete commands, options and choices, and files otherwise."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from opbridge.cli import parser_of
from opbridge.cli.command_table import COMMANDS

Actions = dict[str, list[argparse.Action]]

_FUNCTION = """\
_opbridge() {
  local word=${COMP_WORDS[COMP_CWORD]} command= choices= i
  local previous=${COMP_WORDS[COMP_CWORD-1]}
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; break ;; esac
  done
  case "$command $previous" in
%s
  *)
    case "$command $word" in
%s
    esac ;;
  esac
  COMPREPLY=()
  if [ -n "$choices" ]; then COMPREPLY=($(compgen -W "$choices" -- "$word")); fi
}
complete -o default -F _opbridge opbridge
"""
_FOR_ZSH = "autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge completion`."""
    parser.add_argument("shell", choices=tuple(_SHELLS), help="the shell that reads the script")


def run(options: argparse.Namespace) -> int:
    """Print the completion script of the chosen shell; return 0."""
    # argparse has no public attribute for a parser's arguments.
    actions = {name: parser_of(name)._actions for name in COMMANDS}
    print(_SHELLS[options.shell](actions), end="")
    return 0


def _bash(actions: Actions) -> str:
    after = [line for name, found in actions.items() for line in _after_an_option(name, found)]
    words = [f'    " "*) choices="{" ".join(COMMANDS)}" ;;']
    words += [line for name, found in actions.items() for line in _words(name, found)]
    return _FUNCTION % ("\n".join(after), "\n".join(words))


def _after_an_option(command: str, actions: list[argparse.Action]) -> Iterator[str]:
    for action in actions:
        if action.option_strings and action.choices:
            patterns = "|".join(f'"{command} {option}"' for option in action.option_strings)
            yield f'  {patterns}) choices="{_choices(action)}" ;;'


def _words(command: str, actions: list[argparse.Action]) -> Iterator[str]:
    options = " ".join(option for action in actions for option in action.option_strings)
    yield f'    "{command} -"*) choices="{options}" ;;'
    if operands := " ".join(_choices(action) for action in actions if not action.option_strings).strip():
        yield f'    "{command} "*) choices="{operands}" ;;'


def _choices(action: argparse.Action) -> str:
    return " ".join(map(str, action.choices or ()))


def _fish(actions: Actions) -> str:
    lines = [
        f"complete -c opbridge -n __fish_use_subcommand -a {name} -d {_quoted(command.purpose)}"
        for name, command in COMMANDS.items()
    ]
    lines += [_fish_line(name, action) for name, found in actions.items() for action in found]
    return "\n".join(filter(None, lines)) + "\n"


def _fish_line(command: str, action: argparse.Action) -> str:
    words = [f"complete -c opbridge -n '__fish_seen_subcommand_from {command}'"]
    if action.option_strings:
        words += [f"-{'l' if name.startswith('--') else 's'} {name.lstrip('-')}" for name in action.option_strings]
        words += [f"-d {_quoted(action.help)}"] if action.help else []
        words += ["-r"] if action.nargs != 0 else []
    if action.choices:
        words.append(f"{'-x' if action.option_strings else ''} -a '{_choices(action)}'".strip())
    return " ".join(words) if len(words) > 1 else ""


def _quoted(text: str) -> str:
    """Return a help text as one quoted word for fish, with argparse's doubled percent signs undoubled."""
    return "'" + text.replace("%%", "%").replace("\\", "\\\\").replace("'", "\\'") + "'"


_SHELLS: dict[str, Callable[[Actions], str]] = {
    "bash": _bash,
    # Zsh can run completions written for bash.
    "zsh": lambda actions: _FOR_ZSH + _bash(actions),
    "fish": _fish,
}
