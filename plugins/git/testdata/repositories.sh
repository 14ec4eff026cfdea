#!/bin/sh
# Creates the repositories of the recorded calls below the directory $1. Equal dates and names give equal commits everywhere.
set -eu
cd "$1"
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null TZ=UTC LC_ALL=C
export GIT_AUTHOR_NAME='Ada Lovelace' GIT_AUTHOR_EMAIL=ada@example.com GIT_COMMITTER_NAME='Charles' GIT_COMMITTER_EMAIL=charles@example.com
now=1700000000
g() { git -c init.defaultBranch=main -c core.autocrlf=false -c protocol.file.allow=always "$@" >/dev/null 2>&1; }
commit() { # commit MESSAGE: an hour after the one before
	now=$((now + 3600))
	GIT_AUTHOR_DATE="$now +0200" GIT_COMMITTER_DATE="$now +0200" g commit --allow-empty -m "$1"
}
dated() { # dated COMMAND...: the same dates for a merge or the like
	now=$((now + 3600))
	GIT_AUTHOR_DATE="$now -0330" GIT_COMMITTER_DATE="$now -0330" g "$@"
}
# numbered SEED COUNT MOD: lines of a program with repeated and indented lines, from a linear congruential generator
program() {
	awk -v x="$1" -v n="$2" -v drop="$3" 'BEGIN {
		for (i = 0; i < n; i++) {
			x = (x * 1103 + 12345) % 65536
			y = (i * 7919 + 13) % 997
			if (drop && x % drop == 0) continue
			if (i % 11 == 0) print "func name" i "(a int) {"
			else if (i % 11 == 10) print "}"
			else if (y % 7 == 0) print ""
			else if (y % 5 == 0) print "\tif err != nil {\n\t\treturn err\n\t}"
			else if (drop && x % (drop * 2) == 1) print "\tchanged(" i ")"
			else print "\tcall(" y % 40 ")"
		}
	}'
}
new() { mkdir -p "$1"; cd "$1"; g init .; }

# plain: branches, tags, a merge, and a clean working tree
(new plain
printf 'one\ntwo\nthree\n' >notes.txt; printf '#!/bin/sh\necho hi\n' >run.sh; chmod +x run.sh; : >empty; ln -s notes.txt link
mkdir -p src/deep; program 1 120 0 >src/main.go; echo deep >src/deep/file.txt; printf 'a\0b\n' >binary.bin
g add .; commit 'first commit'
g tag light; dated tag -a v1.0 -m 'version one'
g branch feature/x; g branch stale
program 7 120 9 >src/main.go; printf 'one\nzwei\nthree\nfour\n' >notes.txt; g add .; commit 'second commit

with a body

  and indented lines'
g mv notes.txt renamed.txt; printf 'one\nzwei\nthree\nfour\nfive\n' >renamed.txt; g rm -q empty; chmod -x run.sh; g add .; commit 'rename, delete, mode'
printf 'a\0c\n' >binary.bin; rm link; ln -s run.sh link; g add .; commit 'binary and link'
g checkout feature/x; echo feature >feature.txt; g add .; commit 'feature work'
g checkout main; dated merge --no-ff -m 'Merge feature/x' feature/x
rm link; echo file >link; g add .; commit 'typechange'
printf 'caf\351\n' >latin1.txt; printf 'x\r\ny\r\n' >crlf.txt; echo unicode >'über den.txt'; echo q >'quo"te.txt'; echo s >'with space.txt'; printf 'no newline' >nonl.txt
g add .; commit 'odd names and bytes'
printf 'x\r\nz\r\n' >crlf.txt; printf 'caf\350\n' >latin1.txt; echo more >>'über den.txt'; echo t >'with space.txt'; printf 'no newline either' >nonl.txt; g add .; commit 'change of odd names'
now=$((now + 3600))
g config i18n.commitEncoding ISO-8859-1
printf 'Gr\374\337e\n' >../message; GIT_AUTHOR_NAME='Jos' GIT_AUTHOR_DATE="$now +0530" GIT_COMMITTER_DATE="$now +0530" g commit --allow-empty -F ../message; rm ../message
g config --unset i18n.commitEncoding
)

# dirty: staged, unstaged and untracked changes of each kind
(new dirty
for f in a b c d e f; do program $f$f 60 0 >$f.txt; echo "$f" >>$f.txt; done; mkdir dir; program 5 80 0 >dir/big.go; ln -s a.txt sym; echo '*.log' >.gitignore; echo x >mode.sh; echo old >type
g add .; commit base
echo staged >>a.txt; g add a.txt; echo unstaged >>a.txt
program 3 60 8 >b.txt; g rm -q c.txt; rm d.txt; g mv e.txt moved.txt; echo new >new.txt; g add new.txt; chmod +x mode.sh; program 9 80 7 >dir/big.go
rm sym; ln -s b.txt sym; rm type; ln -s x type; echo ignored >x.log; mkdir -p un/tracked; echo u >un/tracked/file; echo v >plain; printf 'bin\0' >f.txt; echo w >'ümlaut'
g add -N plain)

# staged: only staged changes, among them renames that are not exact
(new staged
mkdir one two; for f in 1 2 3 4; do program $f 50 0 >one/file$f.go; echo "// $f" >>one/file$f.go; done; cp one/file1.go one/copy.go; : >none; echo tiny >tiny
g add .; commit base
g mv one/file1.go two/file1.go; program 1 50 13 >two/file1.go; g mv one/file2.go two/other.go; g mv one/file3.go two/file3.go; echo '// more' >>two/file3.go; g rm -q one/file4.go; program 4 50 2 >two/unlike.go; g mv none empty-now; g mv tiny small
chmod +x one/copy.go; g add .)

# clean with a remote
(new origin; echo 1 >f; g add .; commit one; echo 2 >f; g add .; commit two; g branch dev; g tag v2)
g clone origin clone
g clone origin ahead; (cd ahead; echo 3 >f; g add .; commit three; echo 4 >g; g add .; commit four)
g clone origin behind; (cd behind; g reset --hard HEAD~1)
g clone origin diverged; (cd diverged; g reset --hard HEAD~1; echo 9 >h; g add .; commit nine)
g clone origin gone; (cd gone; g checkout -b topic; g config branch.topic.remote origin; g config branch.topic.merge refs/heads/topic; g branch local; g config branch.local.remote .; g config branch.local.merge refs/heads/main; g checkout -b local2 local; g config branch.local2.remote .; g config branch.local2.merge refs/heads/main; g checkout topic)

# unborn branches
(new unborn)
(new unborn-staged; echo a >a; echo b >b; g add a; echo aa >>a)
(new unborn-untracked; echo a >a)

# detached HEAD
(new detached; echo 1 >f; g add .; commit one; g tag v1; echo 2 >f; g add .; commit two; g checkout v1)
(new detached-moved; echo 1 >f; g add .; commit one; g checkout --detach; echo 2 >f; g add .; commit two; echo dirt >f)

# operations in progress
conflict() {
	program 2 40 0 >both.txt; program 2 40 0 >deleted.txt; program 4 30 0 >fine.txt; g add .; commit base
	g checkout -b other; program 6 40 5 >both.txt; program 6 40 9 >deleted.txt; echo o >added.txt; echo ok >theirs.txt; g add .; commit other
	g checkout main; program 8 40 5 >both.txt; g rm -q deleted.txt; echo m >added.txt; g add .; commit ours
}
(new merging; conflict; dated merge other || true)
(new merged; conflict; dated merge other || true; program 8 40 6 >both.txt; g rm -q deleted.txt || true; g add .)
(new picking; conflict; dated cherry-pick other || true)
(new reverting; conflict; echo late >both.txt; g add .; commit late; dated revert HEAD~1 || true)

# a linked worktree and a submodule
(new shared; echo 1 >f; g add .; commit one; g worktree add ../linked -b linked; echo 2 >f; g add .; commit two)
(new super; echo 1 >f; g add .; commit one; g submodule add ../origin sub; commit 'add sub'; cd sub; git checkout -q HEAD~1)

# history: merges, equal dates, and days between commits
(new history; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do now=$((1600000000 + i * 86400)); echo $i >f; g add .; commit "commit $i"; done
g checkout -b side HEAD~5; for i in 1 2 3; do echo s$i >s; g add .; commit "side $i"; done; g checkout main; dated merge -m 'merge side' side
g checkout -b octo HEAD~4; echo o >o; g add .; commit octo; g checkout main
g pack-refs --all; g branch later; g repack -adq
g checkout -b twins; for i in 1 2; do now=1700900000; echo t$i >f; g add .; commit "twin $i"; done; g checkout main; g update-ref refs/remotes/origin/main HEAD~2; g update-ref refs/remotes/origin/dev HEAD~4; g symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main)

# programs: diffs where several shortest scripts exist
(new programs; for s in 1 2 3 4 5 6; do program $s 300 0 >p$s.go; done; seq 1 3000 >long; (seq 1 700; seq 1 700; seq 5 900) >repeats; g add .; commit base
for s in 1 2 3 4 5 6; do program $((s * 31)) 300 $((s + 2)) >p$s.go; done; (seq 2 2 2000; seq 1500 4000) >long; (seq 3 400; seq 1 3 700; seq 5 900) >repeats; g add .; commit edited
awk 'NR % 5 { print } NR % 7 == 0 { print "\tinserted()"; print "" }' p1.go >q; mv q p1.go; awk '{ l[NR] = $0 } END { for (i = NR; i; i--) print l[i] }' p2.go >q; mv q p2.go; (cat p3.go; cat p3.go) >q; mv q p3.go; tail -n +50 p4.go >q; mv q p4.go)

mkdir no-repository
cp -r plain broken; rm broken/.git/HEAD
