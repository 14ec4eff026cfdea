// Package status describes a working tree as git status does.
package status

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/patch"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
)

const maxPaths = 10_000

// report is the text of a status.
type report struct {
	bytes.Buffer
	repo      *repository.Repository
	staged    []*patch.File
	unstaged  []*patch.File
	unmerged  []repository.PathStatus
	untracked []string
}

// Describe returns the status of a repository, without the last line feed.
func Describe(r *repository.Repository) (string, error) {
	s := &report{repo: r}
	if err := s.read(); err != nil {
		return "", err
	}
	if err := s.branch(); err != nil {
		return "", err
	}
	s.operations()
	if r.Commit == "" {
		s.line("\nNo commits yet\n")
	}
	s.sections()
	s.summary()
	return strings.TrimSuffix(s.String(), "\n"), nil
}

func (s *report) line(format string, values ...any) {
	fmt.Fprintf(s, format, values...)
	s.WriteByte('\n')
}

func (s *report) read() error {
	head := s.repo.Commit
	if head == "" {
		head = repository.Empty
	}
	staged, err := patch.New(s.repo, head, repository.Index)
	if err != nil {
		return err
	}
	unstaged, err := patch.New(s.repo, repository.Index, repository.Worktree)
	if err != nil {
		return err
	}
	s.staged, s.unstaged = merged(staged.Files), merged(unstaged.Files)
	all, truncated, err := s.repo.Status(maxPaths)
	if err != nil {
		return err
	}
	if truncated {
		return fmt.Errorf("more than %d files have changed or are untracked", maxPaths)
	}
	for _, p := range all {
		switch _, conflict := conflicts[p.Staged+p.Unstaged]; {
		case p.Staged == "?":
			s.untracked = append(s.untracked, p.Path)
		case conflict:
			s.unmerged = append(s.unmerged, p)
		}
	}
	return nil
}

// merged returns the files without a conflict.
func merged(files []*patch.File) []*patch.File {
	var all []*patch.File
	for _, f := range files {
		if f.Unmerged == "" {
			all = append(all, f)
		}
	}
	return all
}

func (s *report) branch() error {
	r := s.repo
	switch {
	case r.Branch != "":
		s.line("On branch %s", r.Branch)
	case s.has("rebase"):
		s.line("rebase in progress")
	case r.Detached == "":
		s.line("Not currently on any branch.")
	case r.Moved:
		s.line("HEAD detached from %s", r.Detached)
	default:
		s.line("HEAD detached at %s", r.Detached)
	}
	if r.Commit == "" || r.Upstream == "" {
		return nil
	}
	upstream := strings.TrimPrefix(strings.TrimPrefix(r.Upstream, "refs/heads/"), "refs/remotes/")
	if r.UpstreamCommit == "" {
		s.line("Your branch is based on '%s', but the upstream is gone.\n  (use \"git branch --unset-upstream\" to fixup)\n", upstream)
		return nil
	}
	ahead, err := r.CountMissing(r.Commit, r.UpstreamCommit)
	if err != nil {
		return err
	}
	behind, err := r.CountMissing(r.UpstreamCommit, r.Commit)
	if err != nil {
		return err
	}
	switch {
	case ahead == 0 && behind == 0:
		s.line("Your branch is up to date with '%s'.", upstream)
	case behind == 0:
		s.line("Your branch is ahead of '%s' by %s.\n  (use \"git push\" to publish your local commits)", upstream, commits(ahead))
	case ahead == 0:
		s.line("Your branch is behind '%s' by %s, and can be fast-forwarded.\n  (use \"git pull\" to update your local branch)", upstream, commits(behind))
	default:
		noun := "commits"
		if ahead+behind == 1 {
			noun = "commit"
		}
		s.line("Your branch and '%s' have diverged,\nand have %d and %d different %s each, respectively.\n"+
			"  (use \"git pull\" to merge the remote branch into yours)", upstream, ahead, behind, noun)
	}
	s.line("")
	return nil
}

func commits(n int) string {
	if n == 1 {
		return "1 commit"
	}
	return fmt.Sprintf("%d commits", n)
}

func (s *report) has(operation string) bool {
	for _, o := range s.repo.Operations {
		if o.Name == operation {
			return true
		}
	}
	return false
}

// operations describes the operations in progress.
func (s *report) operations() {
	for _, o := range s.repo.Operations {
		switch {
		case o.Name == "merge" && len(s.unmerged) > 0:
			s.line("You have unmerged paths.\n  (fix conflicts and run \"git commit\")\n  (use \"git merge --abort\" to abort the merge)\n")
		case o.Name == "merge":
			s.line("All conflicts fixed but you are still merging.\n  (use \"git commit\" to conclude merge)\n")
		case o.Name == "cherry-pick":
			s.sequence("cherry-picking", "cherry-pick", "cherry-pick operation", o.Commit)
		case o.Name == "revert":
			s.sequence("reverting", "revert", "revert operation", o.Commit)
		case o.Name == "rebase":
			s.line("You are currently rebasing.\n")
		case o.Name == "am":
			s.line("You are in the middle of an am session.\n")
		case o.Name == "bisect":
			s.line("You are currently bisecting.\n  (use \"git bisect reset\" to get back to the original branch)\n")
		}
	}
}

func (s *report) sequence(doing, command, operation, commit string) {
	s.line("You are currently %s commit %s.", doing, commit)
	if len(s.unmerged) > 0 {
		s.line("  (fix conflicts and run \"git %s --continue\")", command)
	} else {
		s.line("  (all conflicts fixed: run \"git %s --continue\")", command)
	}
	s.line("  (use \"git %s --skip\" to skip this patch)\n  (use \"git %s --abort\" to cancel the %s)\n", command, command, operation)
}

// conflicts are the labels of files with a conflict, by their codes.
var conflicts = map[string]string{
	"DD": "both deleted:", "AU": "added by us:", "UD": "deleted by them:", "UA": "added by them:",
	"DU": "deleted by us:", "AA": "both added:", "UU": "both modified:",
}

func (s *report) sections() {
	unstage := "  (use \"git restore --staged <file>...\" to unstage)"
	switch {
	case s.has("merge") || s.has("cherry-pick"):
		unstage = ""
	case s.repo.Commit == "":
		unstage = "  (use \"git rm --cached <file>...\" to unstage)"
	}
	if len(s.staged) > 0 {
		s.heading("Changes to be committed:", unstage)
		s.files(s.staged, false)
	}
	if len(s.unmerged) > 0 {
		s.heading("Unmerged paths:", unstage, s.resolution())
		for _, p := range s.unmerged {
			s.line("\t%-17s%s", conflicts[p.Staged+p.Unstaged], patch.Quote(p.Path))
		}
		s.line("")
	}
	if len(s.unstaged) > 0 {
		add := "git add"
		for _, f := range s.unstaged {
			if f.New == nil {
				add = "git add/rm"
			}
		}
		s.heading("Changes not staged for commit:", "  (use \""+add+" <file>...\" to update what will be committed)",
			"  (use \"git restore <file>...\" to discard changes in working directory)")
		s.files(s.unstaged, true)
	}
	if len(s.untracked) > 0 {
		s.heading("Untracked files:", "  (use \"git add <file>...\" to include in what will be committed)")
		for _, name := range s.untracked {
			s.line("\t%s", patch.Quote(name))
		}
		s.line("")
	}
}

func (s *report) heading(lines ...string) {
	for _, line := range lines {
		if line != "" {
			s.line("%s", line)
		}
	}
}

// resolution returns the hint how to resolve the conflicts.
func (s *report) resolution() string {
	var bothDeleted, deleted, kept bool
	for _, p := range s.unmerged {
		switch p.Staged + p.Unstaged {
		case "DD":
			bothDeleted = true
		case "UD", "DU":
			deleted = true
		default:
			kept = true
		}
	}
	switch {
	case deleted || bothDeleted && kept:
		return "  (use \"git add/rm <file>...\" as appropriate to mark resolution)"
	case bothDeleted:
		return "  (use \"git rm <file>...\" to mark resolution)"
	}
	return "  (use \"git add <file>...\" to mark resolution)"
}

func (s *report) files(files []*patch.File, inWorktree bool) {
	for _, f := range files {
		label, name := "modified:", patch.Quote(f.Path())
		switch {
		case f.Rename:
			label, name = "renamed:", patch.Quote(f.Old.Path)+" -> "+name
		case f.Old == nil:
			label = "new file:"
		case f.New == nil:
			label = "deleted:"
		case f.IsTypeChange():
			label = "typechange:"
		case f.New.Mode == repository.ModeSubmodule && inWorktree:
			name += " (new commits)"
		}
		s.line("\t%-12s%s", label, name)
	}
	s.line("")
}

// summary says why nothing would be committed.
func (s *report) summary() {
	switch {
	case len(s.staged) > 0 || s.has("merge") && len(s.unmerged) == 0:
	case len(s.unstaged) > 0 || len(s.unmerged) > 0:
		s.line("no changes added to commit (use \"git add\" and/or \"git commit -a\")")
	case len(s.untracked) > 0:
		s.line("nothing added to commit but untracked files present (use \"git add\" to track)")
	case s.repo.Commit == "":
		s.line("nothing to commit (create/copy files and use \"git add\" to track)")
	default:
		s.line("nothing to commit, working tree clean")
	}
}
