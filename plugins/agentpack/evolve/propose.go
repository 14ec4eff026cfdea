// Package evolve handles edits of deployed files. Propose commits the edits to a new branch of the config repo, as
// overlays of the modules from which the files were generated. Restore writes deployed files that are missing again.
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

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Git accesses the git repository that contains the config repo.
type Git interface {
	// Status returns the paths of changed and untracked files. The result found is false unless repo is the top level
	// of a repository.
	Status(repo string) (paths []string, found bool, err error)
	// Commit creates a branch with one commit on top of HEAD, and changes nothing else. The error is ErrNoIdentity if
	// user.name or user.email is not set.
	Commit(repo, branch, message string, files []File) error
}

// File is a file that a commit writes. Path is relative to the repository, with slashes.
type File struct {
	Path    string
	Content []byte
}

// ErrNoIdentity means that git has no user.name or no user.email, which a commit needs.
var ErrNoIdentity = errors.New("git has no user.name or no user.email set, which a commit needs: set them with git config")

const message = "chore(evolve): propose overlay updates"

// Request holds the arguments of Propose.
type Request struct {
	ModuleID string       // the module whose edits are proposed; "" for all modules
	Scope    module.Layer // the layer whose overlays are written
	Branch   string       // the name of the new branch; "" for a generated name
	DryRun   bool         // only report what Propose would propose
	Prefix   string       // the beginning of each recommended command
}

// NoProposal is the result of Propose in a dry run, or if there is nothing to propose.
type NoProposal struct {
	Created    bool        `json:"created"` // always false
	Reason     string      `json:"reason"`  // no_drift, no_proposeable_drift or dry_run
	Candidates []Candidate `json:"candidates,omitempty"`
	Skipped    []Skipped   `json:"skipped"`
	Summary    Summary     `json:"summary"`
}

// Proposal is the result of Propose if there are edits to propose. If git has no identity for a commit, Created is
// false, and Files lists the files that the commit would contain.
type Proposal struct {
	Created    bool         `json:"created"`
	Branch     string       `json:"branch"`
	Scope      module.Layer `json:"scope"`
	Files      []string     `json:"files"` // the paths of the committed files, relative to the config repo
	FilesPosix []string     `json:"files_posix"`
	Committed  bool         `json:"committed"`
}

// Propose finds edits of deployed files and commits them to a new branch. The payload is a NoProposal or a Proposal.
// Propose changes neither the working tree nor the current branch, and deploys nothing.
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
	committed := err == nil
	if errors.Is(err, ErrNoIdentity) {
		p.warnings = append(p.warnings, "no commit and no branch were created: "+err.Error())
		err = nil
	}
	if err != nil {
		return nil, p.warnings, fmt.Errorf("cannot create the branch %s: %w", branch, err)
	}
	proposal := Proposal{Created: committed, Branch: branch, Scope: request.Scope, Committed: committed}
	for _, file := range p.files {
		proposal.Files = append(proposal.Files, filepath.FromSlash(file.Path))
		proposal.FilesPosix = append(proposal.FilesPosix, file.Path)
	}
	return proposal, p.warnings, nil
}

// requireClean returns a fault if the config repo is not the top level of a repository, or has uncommitted changes. The
// new branch is based on HEAD, so the overlays in it would not match modules with uncommitted changes.
func requireClean(git Git, repo string) error {
	details := fault.Details{"command": "evolve propose", "repo": repo, "repo_posix": filepath.ToSlash(repo)}
	paths, found := []string(nil), false
	_, err := os.Lstat(filepath.Join(repo, ".git"))
	if err == nil {
		paths, found, err = git.Status(repo)
	}
	switch {
	case err != nil && !filesystem.IsAbsent(err):
		return fmt.Errorf("cannot read the git status of the config repo %s, for which the plugin needs the grant %s: %w", repo, grant(repo), err)
	case !found && err == nil:
		details["hint"] = "grant the repository to the plugin by " + grant(repo) + "; if its .git is no repository, replace it by git init"
		return fault.New(fault.GitRepoRequired, details, "%s has a .git, but no repository that the plugin is granted is there, so no branch can be created", repo)
	case !found:
		details["hint"] = "make the config repo a git repository (git init), and commit its files"
		return fault.New(fault.GitRepoRequired, details, "%s is not the top level of a git repository, so no branch can be created", repo)
	case len(paths) > 0:
		details["hint"] = "commit or stash the changes, and try again"
		return fault.New(fault.GitWorktreeDirty, details, "%s has uncommitted changes: %s", repo, firstFew(paths))
	}
	return nil
}

// grant returns the key of bulkhead.toml that grants the config repo for a new branch.
func grant(repo string) string { return fmt.Sprintf("git = [{ repo = %q, access = \"rw\" }]", repo) }

// firstFew joins at most five paths, and states the number of further paths.
func firstFew(paths []string) string {
	const few = 5
	if len(paths) <= few {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:few], ", "), len(paths)-few)
}

// proposalBuilder converts candidates to overlay files in the config repo.
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
		return errors.New("no edit can be written as an overlay: see the warnings")
	}
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
			p.warnings = append(p.warnings, fmt.Sprintf("evolve: %s is not proposed: the %s overlay of %s consists of patches and cannot contain files; edit the patch, or choose another scope",
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
			p.warnings = append(p.warnings, fmt.Sprintf("evolve: %s is not proposed: its edit of %s differs from the edit in an earlier file", candidate.Path, candidate.ModuleID))
		}
		return nil
	}
	p.files = append(p.files, file)
	if !slices.Contains(p.modules, candidate.ModuleID) {
		p.modules = append(p.modules, candidate.ModuleID)
	}
	return nil
}

// branch generates a name for the new branch from the scope, the modules and the time.
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
