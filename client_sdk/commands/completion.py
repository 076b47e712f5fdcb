"""``hearsay-client completion``: completes commands and options when Tab is pressed in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from shlex import quote

from client_sdk.commands import Outcome

Words = Mapping[str, tuple[str, ...]]
"""The options of each command."""


def words_of(commands: Mapping[str, argparse.ArgumentParser]) -> Words:
    """Return the words that may follow each command."""
    return {name: tuple(parser._option_string_actions) for name, parser in commands.items()}  # noqa: SLF001 not public


def completion(shell: str, words: Words) -> Outcome:
    """Return the script that makes a shell complete commands, their options and names of files."""
    return Outcome(SHELLS[shell](words))


def _bash(words: Words) -> str:
    return f"""\
_hearsay_client() {{
  local words
  case $COMP_CWORD:${{COMP_WORDS[1]}} in
    1:*) words={quote(" ".join(words))};;
{_cases(words, "*:")}  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _hearsay_client hearsay-client
"""


def _zsh(words: Words) -> str:
    return f"""\
_hearsay_client() {{
  local words_of
  case ${{words[2]}} in
{_cases(words, "", "words_of")}  esac
  if (( CURRENT == 2 )); then compadd -- {" ".join(words)}
  elif [[ ${{words[CURRENT]}} == -* ]]; then compadd -- ${{=words_of}}
  else _files; fi
}}
compdef _hearsay_client hearsay-client
"""


def _fish(words: Words) -> str:
    lines = [f"complete -c hearsay-client -n __fish_use_subcommand -f -a {quote(' '.join(words))}"]
    for command, options in words.items():
        seen = quote(f"__fish_seen_subcommand_from {command}")
        lines += [f"complete -c hearsay-client -n {seen} -l {option[2:]}" for option in options if option[1] == "-"]
    return "\n".join(lines) + "\n"


def _cases(words: Words, before: str, name: str = "words") -> str:
    return "".join(
        f"    {before}{command}) {name}={quote(' '.join(options))};;\n" for command, options in words.items()
    )


SHELLS: Mapping[str, Callable[[Words], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""How each shell's script is written."""
