package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxChanges = 1000     // most changes in one commit
	maxContent = 32 << 20 // most bytes of all changed files together
	maxMessage = 64 << 10 // most bytes of the commit message
	maxName    = 1 << 10  // most bytes of a user's name or address
)

// CommitBranch creates a branch with one commit. It writes loose objects, and finally the reference. The reference is created atomically,
// under the lock that git itself uses, so an existing branch is never changed. The working tree, the index, HEAD and the reflogs do not
// change. No hook runs, and contents are stored unconverted. A repository whose files git would share by their permissions is refused.
//
// The author and committer is user.name and user.email of the repository's own configuration. What that configuration lacks is taken from
// the user's configuration. If both lack it, nothing is written, and the error states how to set it.
func (o *Ops) CommitBranch(ctx context.Context, q abi.GitNewCommit) (abi.GitCommitted, error) {
	if err := normalizeCommit(&q); err != nil {
		return abi.GitCommitted{}, err
	}
	edit, err := objects.NewEdit(q.Changes)
	if err != nil {
		return abi.GitCommitted{}, err
	}
	return change(ctx, o, q.Repo, repo.Branches, func(r *repo.Repository, user User, _ Settings) (abi.GitCommitted, error) {
		signature, err := o.signature(r, user)
		if err != nil {
			return abi.GitCommitted{}, err
		}
		return commitBranch(ctx, r, &q, edit, signature)
	})
}

// normalizeCommit validates a request, except the paths of its changes. It strips the message as git does.
func normalizeCommit(q *abi.GitNewCommit) error {
	err := refs.CheckBranch(q.Branch)
	if err == nil && q.Base != "" {
		err = refs.CheckBranch(q.Base)
	}
	if err != nil {
		return err
	}
	if err := checkMessage(q.Message); err != nil {
		return err
	}
	q.Message = strings.TrimRight(strings.TrimLeft(q.Message, "\r\n"), " \t\r\n") + "\n"
	if strings.TrimSpace(q.Message) == "" {
		return hosterror.Invalid("message: it is empty: describe the change")
	}
	total := 0
	for _, c := range q.Changes {
		total += len(c.Content)
	}
	if len(q.Changes) == 0 || len(q.Changes) > maxChanges || total > maxContent {
		return hosterror.Invalid("changes: %d files of %d bytes: give 1 to %d files of at most %d bytes",
			len(q.Changes), total, maxChanges, maxContent)
	}
	return nil
}

func checkMessage(message string) error {
	if len(message) > maxMessage || !utf8.ValidString(message) || strings.ContainsRune(message, 0) {
		return hosterror.Invalid("message: it has %d bytes: give at most %d bytes of UTF-8 without NUL", len(message), maxMessage)
	}
	return nil
}

// signature returns the author of a commit in the form `NAME <MAIL> SECONDS ZONE`.
func (o *Ops) signature(r *repo.Repository, user User) (string, error) {
	identity, err := author(r, user.Identity)
	now := o.config.Now()
	return fmt.Sprintf("%s %d %s", identity, now.Unix(), now.Format("-0700")), err
}

// errNoIdentity must keep its wording: modules that were built before abi.ReasonNoIdentity existed compare its first words.
var errNoIdentity = errors.New("nobody to name as the author: git config --global user.name NAME and " +
	"git config --global user.email ADDRESS set it (without --global: for this repository)")

// author returns the author of a commit in the form `NAME <MAIL>`.
func author(r *repo.Repository, user Identity) (string, error) {
	config, err := r.CheckedConfig()
	if err != nil {
		return "", err
	}
	user.override(config)
	user.Name, user.Email = cleanIdentity(user.Name), cleanIdentity(user.Email)
	if user.Name == "" || user.Email == "" {
		return "", errNoIdentity
	}
	return user.Name + " <" + user.Email + ">", nil
}

// cleanIdentity removes the characters that delimit a name or address in a commit. With them, a repository's configuration could forge
// headers. It also trims the string as git does.
func cleanIdentity(s string) string {
	s = strings.Map(func(c rune) rune {
		if c == '<' || c == '>' || c == '\n' || c == 0 {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.TrimFunc(s, func(c rune) bool { return c <= ' ' || strings.ContainsRune(`.,:;"\'`, c) })
	if len(s) > maxName {
		return ""
	}
	return s
}

func commitBranch(ctx context.Context, r *repo.Repository, q *abi.GitNewCommit, edit *objects.Edit, signature string) (abi.GitCommitted, error) {
	var none abi.GitCommitted
	parent, err := baseCommit(ctx, r, q)
	if err != nil {
		return none, err
	}
	s, err := objects.Open(ctx, r)
	if err != nil {
		return none, err
	}
	defer s.Close()
	base, err := s.Commit(parent)
	if err != nil {
		return none, err
	}
	batch := s.NewBatch()
	tree, err := batch.AddTree(base.Tree, edit)
	if err != nil {
		return none, err
	}
	if tree == base.Tree {
		return none, errors.New("nothing to commit: the changes do not differ from the base")
	}
	text := fmt.Sprintf("tree %s\nparent %s\nauthor %s\ncommitter %s\n\n%s", tree, parent, signature, signature, q.Message)
	commit := batch.Add(plumbing.CommitObject, []byte(text))
	branch, err := refs.LockNewBranch(ctx, r, q.Branch)
	if err != nil {
		return none, err
	}
	defer branch.Release()
	if err := batch.Write(); err != nil {
		return none, err
	}
	return abi.GitCommitted{Commit: commit.String(), Parent: parent.String()}, branch.Set(commit)
}

// baseCommit returns the hash of the commit that becomes the parent of the new commit.
func baseCommit(ctx context.Context, r *repo.Repository, q *abi.GitNewCommit) (plumbing.Hash, error) {
	name, described := "HEAD", "HEAD"
	if q.Base != "" {
		name, described = refs.BranchPrefix+q.Base, "the branch "+q.Base
	}
	hash, ok, err := refs.Resolve(ctx, r, name)
	if err != nil {
		return hash, err
	}
	if !ok {
		return hash, fmt.Errorf("%s has no commit to branch from: commit something first", described)
	}
	// If HEAD's branch is unborn, creating that branch would change the commit to which HEAD resolves.
	if current, err := refs.HeadBranch(r); err != nil || current == q.Branch {
		return hash, errors.Join(err, fmt.Errorf("the branch %s is the current branch (HEAD): choose a different name", q.Branch))
	}
	return hash, nil
}
