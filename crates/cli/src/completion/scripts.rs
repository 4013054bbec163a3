//! The scripts of bash and zsh. The library's scripts split words that the command does not, and add a blank after
//! words that continue, such as `tcp.` and `csv=`.

use std::{ffi::OsString, io, path::Path};

use clap::Command;
use clap_complete::env::{self, EnvCompleter};

/// A shell with a script of ours; the library prints the candidates.
pub(super) struct Script {
    script: &'static str,
    shell: &'static dyn EnvCompleter,
}

/// The adapter to bash.
pub(super) const BASH: Script = Script { script: BASH_SCRIPT, shell: &env::Bash };

/// The adapter to zsh.
pub(super) const ZSH: Script = Script { script: ZSH_SCRIPT, shell: &env::Zsh };

/// Bash splits words at = and : as well: the script joins them again, and removes from the candidates the part
/// before the split.
const BASH_SCRIPT: &str = r#"_NAME() {
    local line=${COMP_LINE:0:COMP_POINT} words=() breaks=${COMP_WORDBREAKS//[^=:]/}
    local at blanks word before
    for ((at = 0; at <= COMP_CWORD; at++)); do
        blanks=${line%%[![:space:]]*}
        line=${line#"$blanks"}
        word=${COMP_WORDS[at]}
        ((at == COMP_CWORD)) && word=$line
        if [[ -n $blanks || at -eq 0 ]]; then
            words+=("$word")
        else
            words[${#words[@]} - 1]+=$word
        fi
        line=${line#"$word"}
    done
    word=${words[${#words[@]} - 1]}
    before=
    case $word in
    [\'\"]*) word=${word:1} ;;
    *) [[ -n $breaks && $word == *[$breaks]* ]] && before=${word%"${word##*[$breaks]}"} ;;
    esac
    words[${#words[@]} - 1]=$word
    mapfile -t COMPREPLY < <(
        VARIABLE=bash _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) _CLAP_IFS=$'\n' \
            COMPLETER -- "${words[@]}" 2>/dev/null
    )
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=.,:@/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -F _NAME BIN
"#;

const ZSH_SCRIPT: &str = r#"#compdef BIN
_NAME() {
    local -a all done open
    local one found=1
    all=("${(@f)$(VARIABLE=zsh _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) _CLAP_IFS=$'\n' \
        COMPLETER -- "${(@Q)words[1,CURRENT]}" 2>/dev/null)}")
    for one in $all; do
        if [[ ${one%%:*} == *[=.,@/] ]]; then open+=("$one"); else done+=("$one"); fi
    done
    (( $#done )) && _describe -V 'values' done && found=0
    (( $#open )) && _describe -V 'values' open -S '' && found=0
    return found
}
if [[ $funcstack[1] == _NAME ]]; then _NAME "$@"; else compdef _NAME BIN; fi
"#;

/// Writes a script with the names filled in.
fn write(
    script: &str,
    [variable, name, bin, completer]: [&str; 4],
    buffer: &mut dyn io::Write,
) -> io::Result<()> {
    let script = script.replace("COMPLETER", completer).replace("VARIABLE", variable);
    buffer.write_all(script.replace("BIN", bin).replace("NAME", &name.replace('-', "_")).as_bytes())
}

impl EnvCompleter for Script {
    fn name(&self) -> &'static str {
        self.shell.name()
    }

    fn is(&self, name: &str) -> bool {
        self.shell.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn io::Write,
    ) -> io::Result<()> {
        write(self.script, [var, name, bin, completer], buf)
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn io::Write,
    ) -> io::Result<()> {
        self.shell.write_complete(cmd, args, current_dir, buf)
    }
}
