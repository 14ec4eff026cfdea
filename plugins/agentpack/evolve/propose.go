// Package evolve goes the other way: Propose makes a branch of the config repo in which the edits of
// deployed files are overlays of the modules that the files came from, and Restore writes deployed files
// that are missing again.
package evolve

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
)

// Git is what Propose needs of the config repo.
type Git interface {
	// Status returns paths that differ from the last commit, untracked ones included; found is false unless the
	// folder is the top level of a repository.
	Status(repo string) (paths []string, found bool, err error)
	// Commit makes a new branch with one commit on top of the current one, and changes nothing else. The
	// error is ErrNoIdentity if git does not know in whose name.
	Commit(repo, branch, message string, files []File) error
}

// File is a file that a commit writes. Path is relative to the repository, with slashes.
type File struct {
	Path    string
	Content []byte
}

// ErrNoIdentity says that there is nobody in whose name to commit.
var ErrNoIdentity = errors.New("git knows neither a user.name nor a user.email to commit as: set them by git config")

const message = "chore(evolve): propose overlay updates"

// Request is what to propose.
type Request struct {
	ModuleID string       // of one module only; "" of all
	Scope    module.Layer // of the overlays to write
	Branch   string       // "": one that says what it is, with the time
	DryRun   bool         // tell what would be proposed, and do nothing
	Prefix   string       // of the commands that are recommended
}

// Nothing is the answer where no branch was to be made.
type NoProposal struct {
	Created    bool        `json:"created"` // false
	Reason     string      `json:"reason"`  // no_drift, no_proposeable_drift or dry_run
	Candidates []Candidate `json:"candidates,omitempty"`
	Skipped    []Skipped   `json:"skipped"`
	Summary    Summary     `json:"summary"`
}

// Proposal is the answer where one was. Without somebody to commit as there is neither branch nor commit,
// and Files are those that would be in it.
type Proposal struct {
	Created    bool         `json:"created"`
	Branch     string       `json:"branch"`
	Scope      module.Layer `json:"scope"`
	Files      []string     `json:"files"` // relative to the config repo
	FilesPosix []string     `json:"files_posix"`
	Committed  bool         `json:"committed"`
}

// Propose finds edits of deployed files, and makes a branch of them unless there are none or nothing is to
// be done. The payload is a Nothing or a Proposal. Neither the working tree nor the branch that is checked
// out changes, and nothing is deployed.
func Propose(result *plan.Prepared, git Git, request Request) (payload any, warnings []string, err error) {
	s := driftScan{prefix: request.Prefix}
	s.run(result.State, request.ModuleID)
	nothing := NoProposal{Skipped: s.skipped, Summary: s.summary}
	switch {
	case len(s.candidates) == 0 && len(s.skipped) == 0:
		nothing.Reason = "no_drift"
	case len(s.candidates) == 0:
		nothing.Reason = "no_proposeable_drift"
	case request.DryRun:
		nothing.Reason, nothing.Candidates = "dry_run", s.candidates
	}
	if nothing.Reason != "" {
		return nothing, s.warnings, nil
	}
	if err := requireClean(git, result.Repo); err != nil {
		return nil, s.warnings, err
	}
	p := proposalBuilder{layers: result.Layers, scope: request.Scope, warnings: s.warnings}
	if err := p.collect(s.candidates); err != nil {
		return nil, p.warnings, err
	}
	branch := request.Branch
	if branch == "" {
		branch = p.branch(request.ModuleID, result.Env.Now)
	}
	err = git.Commit(result.Repo, branch, message, p.files)
	done := err == nil
	if errors.Is(err, ErrNoIdentity) {
		p.warnings = append(p.warnings, "nothing was committed, and no branch made: "+err.Error())
		err = nil
	}
	if err != nil {
		return nil, p.warnings, fmt.Errorf("make the branch %s: %w", branch, err)
	}
	proposal := Proposal{Created: done, Branch: branch, Scope: request.Scope, Committed: done}
	for _, file := range p.files {
		proposal.Files = append(proposal.Files, filepath.FromSlash(file.Path))
		proposal.FilesPosix = append(proposal.FilesPosix, file.Path)
	}
	return proposal, p.warnings, nil
}

// clean refuses a config repo that is no repository of its own, or has changes that are not committed: the
// branch would not show what the edits were made to.
func requireClean(git Git, repo string) error {
	details := fault.Details{"command": "evolve propose", "repo": repo, "repo_posix": filepath.ToSlash(repo)}
	paths, found := []string(nil), false
	_, err := os.Lstat(filepath.Join(repo, ".git"))
	if err == nil {
		paths, found, err = git.Status(repo)
	}
	switch {
	case err != nil && !disk.IsMissing(err):
		return fmt.Errorf("the state of the config repo %s: %w", repo, err)
	case !found:
		details["hint"] = "make the config repo a git repository (git init), and commit what is in it"
		return fault.New(fault.GitRepoRequired, details, "%s is not a git repository, so no branch can be made in it", repo)
	case len(paths) > 0:
		details["hint"] = "commit or stash the changes, and try again"
		return fault.New(fault.GitWorktreeDirty, details, "%s has changes that are not committed: %s", repo, firstFew(paths))
	}
	return nil
}

// some names the first few of many.
func firstFew(paths []string) string {
	const few = 5
	if len(paths) <= few {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:few], ", "), len(paths)-few)
}

// proposing turns candidates into files of the config repo.
type proposalBuilder struct {
	layers   module.Layers
	scope    module.Layer
	files    []File
	modules  []string
	warnings []string
}

func (p *proposalBuilder) collect(candidates []Candidate) error {
	for _, candidate := range candidates {
		if err := p.add(candidate); err != nil {
			return err
		}
	}
	if len(p.files) == 0 {
		return errors.New("none of the edits can be written as an overlay: the warnings say why")
	}
	slices.SortFunc(p.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (p *proposalBuilder) add(candidate Candidate) error {
	dir, exists, err := p.layers.Dir(p.scope, candidate.ModuleID)
	if err != nil {
		return err
	}
	if exists {
		kind, err := module.ReadOverlayKind(dir)
		if err != nil {
			return err
		}
		if kind == module.KindPatch {
			p.warnings = append(p.warnings, fmt.Sprintf("evolve: %s is not proposed: the %s overlay of %s consists of patches, beside which no file may be; change its patch, or choose another scope",
				candidate.Path, p.scope, candidate.ModuleID))
			return nil
		}
	}
	relative, err := filepath.Rel(p.layers.Repo, filepath.Join(dir, filepath.FromSlash(candidate.file)))
	if err != nil {
		return err
	}
	file := File{Path: filepath.ToSlash(relative), Content: candidate.content}
	if at := slices.IndexFunc(p.files, func(f File) bool { return f.Path == file.Path }); at >= 0 {
		if !bytes.Equal(p.files[at].Content, file.Content) {
			p.warnings = append(p.warnings, fmt.Sprintf("evolve: %s has another edit of %s than a file before it: it is left out", candidate.Path, candidate.ModuleID))
		}
		return nil
	}
	p.files = append(p.files, file)
	if !slices.Contains(p.modules, candidate.ModuleID) {
		p.modules = append(p.modules, candidate.ModuleID)
	}
	return nil
}

// branch names a branch by what is in it and when it was made.
func (p *proposalBuilder) branch(moduleID string, now time.Time) string {
	subject := "multi"
	switch {
	case moduleID != "":
		subject = env.Sanitize(moduleID)
	case len(p.modules) == 1:
		subject = env.Sanitize(p.modules[0])
	}
	now = now.UTC()
	return fmt.Sprintf("evolve/propose-%s-%s-%s-%09d", p.scope, subject, now.Format("20060102T150405Z"), now.Nanosecond())
}
