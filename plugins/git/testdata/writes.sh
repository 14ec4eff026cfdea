#!/bin/sh
# Creates the repositories of the recorded calls that write, below the directory $1. Equal dates and names give equal commits everywhere.
set -eu
cd "$1"
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null TZ=UTC LC_ALL=C GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_DATE='1700000000 +0200' GIT_COMMITTER_DATE='1700000000 +0200'
g() { git -c init.defaultBranch=main "$@" >/dev/null 2>&1; }
new() { mkdir -p "$1"; cd "$1"; g init .; g config user.name 'Ada Lovelace'; g config user.email ada@example.com; }
(new unborn)
(new base
printf 'one\ntwo\n' >a.txt; mkdir dir; echo b >dir/b.txt; printf '#!/bin/sh\n' >run.sh; chmod +x run.sh; ln -s a.txt link; : >empty; printf '*.log\nbuild/\n' >.gitignore
g add .; g commit -m 'first commit'
g branch feature/x; g tag v1; g tag -a -m annotated v2
echo three >>a.txt; g commit -am 'second commit'
g update-ref refs/remotes/origin/main HEAD~1; g branch stale HEAD~1)
cp -R base work # with a change of each kind
(cd work
echo four >>a.txt; echo new >new.txt; mkdir -p un/deep; echo u >un/deep/file; rm dir/b.txt; echo x >x.log; mkdir build; echo y >build/y; chmod -x run.sh; echo é >'ü.txt'; echo s >'with space.txt'; printf 'bin\0' >binary)
cp -R base staged # with staged changes
(cd staged; echo four >>a.txt; echo new >new.txt; g rm -q dir/b.txt; g add a.txt new.txt; echo five >>a.txt)
cp -R base conflict
(cd conflict; g checkout -q feature/x; echo theirs >a.txt; g commit -am theirs; g checkout -q main; g merge feature/x || true)
