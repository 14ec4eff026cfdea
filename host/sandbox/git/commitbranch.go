package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxChanges = 1000     // files of one commit
	maxChanged = 32 << 20 // bytes of their contents
	maxMessage = 64 << 10 // bytes
	maxName    = 1 << 10  // bytes of a user's name or address
)

// CommitBranch makes a branch with one commit on it. It writes loose objects and, last and at once, the
// reference, under the lock that git itself takes; a branch that exists is never changed. Working
// tree, index, HEAD and reflogs stay as they are, no hook runs, and contents are stored as they come.
//
// Author and committer are the user.name and user.email of the repository's own configuration, or
// else Config.User's. Where one is missing nothing is written, and the error says what to set.
func (o *Ops) CommitBranch(ctx context.Context, q abi.GitNewCommit) (abi.GitCommitted, error) {
	var done abi.GitCommitted
	if err := checkNewCommit(&q); err != nil {
		return done, err
	}
	edits, err := newTreeEdit(q.Changes)
	if err != nil {
		return done, err
	}
	found := false
	err = o.open(ctx, q.Repo, true, func(r *root) error {
		return r.use(q.Repo, func(repo *repository) error {
			found = true
			author, err := repo.author(o.config.User.Identity)
			if err != nil {
				return err
			}
			when := o.config.Now()
			signature := fmt.Sprintf("%s %d %s", author, when.Unix(), when.Format("-0700"))
			done, err = repo.commitBranch(ctx, &q, edits, signature)
			return err
		})
	})
	if err == nil && !found {
		err = failed("%s: no git repository", q.Repo)
	}
	if err != nil {
		return abi.GitCommitted{}, err
	}
	return done, nil
}

// checkNewCommit checks all of a request but the changes, and gives the message git's form.
func checkNewCommit(q *abi.GitNewCommit) error {
	err := checkBranch(q.Branch)
	if err == nil && q.Base != "" {
		err = checkBranch(q.Base)
	}
	if err != nil {
		return err
	}
	if len(q.Message) > maxMessage || !utf8.ValidString(q.Message) || strings.ContainsRune(q.Message, 0) {
		return invalid("message: %d bytes: give at most %d of UTF-8 without NUL", len(q.Message), maxMessage)
	}
	q.Message = strings.TrimRight(strings.TrimLeft(q.Message, "\r\n"), " \t\r\n") + "\n"
	if strings.TrimSpace(q.Message) == "" {
		return invalid("message: is empty")
	}
	total := 0
	for _, c := range q.Changes {
		total += len(c.Content)
	}
	if len(q.Changes) == 0 || len(q.Changes) > maxChanges || total > maxChanged {
		return invalid("changes: %d files of %d bytes: give 1 to %d files of at most %d bytes",
			len(q.Changes), total, maxChanges, maxChanged)
	}
	return nil
}

// errNoIdentity keeps its wording: modules built before abi.ReasonNoIdentity look for its first words.
var errNoIdentity = errors.New("nobody to name as the author: git config --global user.name NAME and " +
	"git config --global user.email ADDRESS set it (without --global: for this repository)")

// author gives `NAME <MAIL>`.
func (r *repository) author(user Identity) (string, error) {
	s, err := r.settings()
	if err == nil {
		err = s.checkFormat()
	}
	if err != nil {
		return "", err
	}
	for key, to := range map[string]*string{"name": &user.Name, "email": &user.Email} {
		if own, ok := s.last("user", "", key); ok {
			*to = own
		}
	}
	user.Name, user.Email = cleanIdentity(user.Name), cleanIdentity(user.Email)
	if user.Name == "" || user.Email == "" {
		return "", errNoIdentity
	}
	return user.Name + " <" + user.Email + ">", nil
}

// cleanIdentity takes out what would end a name or an address within a commit, and trims as git does.
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

func (r *repository) commitBranch(ctx context.Context, q *abi.GitNewCommit, edits *treeEdit, author string) (abi.GitCommitted, error) {
	var none abi.GitCommitted
	parent, err := r.baseOf(ctx, q)
	if err != nil {
		return none, err
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return none, err
	}
	defer s.close()
	base, err := s.commit(parent)
	if err != nil {
		return none, err
	}
	b := &treeBuilder{store: s}
	tree, err := b.build(base.tree, edits)
	if err != nil {
		return none, err
	}
	if tree == base.tree {
		return none, errors.New("nothing to commit: the files are already so")
	}
	text := fmt.Sprintf("tree %s\nparent %s\nauthor %s\ncommitter %s\n\n%s", tree, parent, author, author, q.Message)
	commit := b.add(plumbing.CommitObject, []byte(text))
	ref, err := r.lockNewBranch(ctx, q.Branch)
	if err != nil {
		return none, err
	}
	defer ref.release()
	for _, o := range b.objects {
		if err := s.write(o); err != nil {
			return none, err
		}
	}
	return abi.GitCommitted{Commit: commit.String(), Parent: parent.String()}, ref.set(commit)
}

// baseOf finds the commit that the new one stands on.
func (r *repository) baseOf(ctx context.Context, q *abi.GitNewCommit) (plumbing.Hash, error) {
	name, says := "HEAD", "HEAD"
	if q.Base != "" {
		name, says = branchPrefix+q.Base, "the branch "+q.Base
	}
	hash, ok, err := r.resolve(ctx, name)
	if err != nil {
		return hash, err
	}
	if !ok {
		return hash, fmt.Errorf("%s has no commit to stand on", says)
	}
	// To make the branch that HEAD refers to would change where HEAD stands.
	if current, err := r.headBranch(); err != nil || current == q.Branch {
		return hash, errors.Join(err, fmt.Errorf("the branch %s is the one that HEAD is on", q.Branch))
	}
	return hash, nil
}

// inCommon gives the name in root of a part of what a repository's worktrees share.
func (r *repository) inCommon(part string) string { return path.Join(r.common, part) }
