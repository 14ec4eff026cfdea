package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxReceived = 64 << 20 // bytes of a pack that a remote sends
	pageFiles   = 1000     // files of one answer
)

// Fetch gives the files of a commit of a remote repository, a page at a time: at most 1,000 files, and
// Config.MaxFile bytes of content. The host keeps nothing between two pages and writes nothing: what
// becomes of the files is up to the module and to the folders that it was granted. Each page fetches
// that one commit anew, without its history where the remote can do that.
//
// A commit with a path that would lie in a .git folder, or with a file beyond Config.MaxFile, is refused.
func (o *Ops) Fetch(ctx context.Context, q abi.GitFetch) (abi.GitFetched, error) {
	page := &fetchPage{folder: strings.TrimSuffix(q.Folder, "/"), after: q.After, limit: o.config.MaxFile}
	if !plumbing.IsHash(q.Commit) {
		return abi.GitFetched{}, invalid("commit: %q: give a full hash; git/list_remote finds that of a branch or tag", shorten(q.Commit))
	}
	if page.folder != "" {
		if err := checkPath(page.folder); err != nil {
			return abi.GitFetched{}, err
		}
		page.folder += "/"
	}
	if len(q.After) > maxPath {
		return abi.GitFetched{}, invalid("after: %d bytes: give the last path of the page before", len(q.After))
	}
	hash := plumbing.NewHash(q.Commit)
	err := o.remote(ctx, q.URL, func(s *session) error {
		select {
		case o.remotes.turns <- struct{}{}:
			defer func() { <-o.remotes.turns }()
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		data, err := s.fetch(hash)
		if err != nil {
			return err
		}
		page.store, err = receivedStore(s.ctx, data)
		if err != nil {
			return err
		}
		return page.fill(hash)
	})
	if err != nil {
		return abi.GitFetched{}, err
	}
	return page.answer, nil
}

// fetch asks for one commit without its history, and gives the pack that the remote sends.
func (s *session) fetch(commit plumbing.Hash) ([]byte, error) {
	var request packetWriter
	if s.v2 {
		s.command(&request, "fetch")
		request.linef("no-progress")
		request.linef("ofs-delta")
		if strings.Contains(s.capabilities["fetch"], "shallow") {
			request.linef("deepen 1")
		}
		request.linef("want %s", commit)
		request.linef("done")
		request.special(packetFlush)
	} else if err := s.requestV0(&request, commit); err != nil {
		return nil, err
	}
	body, err := s.post(&request, maxReceived+maxReceived/8)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	answer := newPackets(body)
	if err := s.skipToPack(answer); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(&limitedReader{&bands{packets: answer}, maxReceived, maxReceived})
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (s *session) requestV0(request *packetWriter, commit plumbing.Hash) error {
	if _, ok := s.capabilities["side-band-64k"]; !ok {
		return errors.New("the remote is too old: it has no side bands")
	}
	_, shallow := s.capabilities["shallow"]
	words := []string{"side-band-64k"}
	for _, word := range []string{"ofs-delta", "no-progress", "shallow"} {
		if _, ok := s.capabilities[word]; ok {
			words = append(words, word)
		}
	}
	request.linef("want %s %s", commit, strings.Join(words, " "))
	if shallow {
		request.linef("deepen 1")
	}
	request.special(packetFlush)
	request.linef("done")
	return nil
}

// skipToPack reads what stands before the pack: where history was cut off, and that nothing is common.
func (s *session) skipToPack(answer *packets) error {
	for range maxTracked {
		text, _, err := answer.line()
		switch {
		case err != nil:
			return err
		case s.v2 && text == "packfile", !s.v2 && text == "NAK":
			return nil
		}
	}
	return errors.New("the remote sends no pack")
}

// fetchPage is one page of a commit's files.
type fetchPage struct {
	store         *store
	folder, after string
	limit, size   int64
	answer        abi.GitFetched
}

func (p *fetchPage) fill(hash plumbing.Hash) error {
	p.answer.Files = []abi.GitFetchedFile{}
	c, err := p.store.commit(hash)
	if err != nil {
		return err
	}
	w := &treeWalk{store: p.store, visit: p.file, skip: p.passedBy, left: maxTracked}
	if err := w.files(c.tree, ""); err != errStop {
		return err
	}
	p.answer.More = true
	return nil
}

// passedBy reports whether no file of a folder is wanted.
func (p *fetchPage) passedBy(folder string) bool {
	inside := strings.HasPrefix(folder, p.folder) || strings.HasPrefix(p.folder, folder)
	return !inside || folder < p.after && !strings.HasPrefix(p.after, folder)
}

func (p *fetchPage) file(path string, n named) error {
	switch reserved(path) {
	case ".git", ".", "..":
		return fmt.Errorf("the commit has the path %q, which on some file system lies in git's own folder", shorten(path))
	}
	if !utf8.ValidString(path) {
		return fmt.Errorf("the commit has the path %q, which is not UTF-8", shorten(path))
	}
	if !strings.HasPrefix(path, p.folder) || path <= p.after || n.mode == modeSubmodule {
		return nil
	}
	if len(p.answer.Files) == pageFiles {
		return errStop
	}
	content, err := p.store.get(n.hash, plumbing.BlobObject, p.limit)
	if err != nil {
		return fmt.Errorf("%s: %w", shorten(path), err)
	}
	if p.size += int64(len(content)); p.size > p.limit && len(p.answer.Files) > 0 {
		return errStop
	}
	p.answer.Files = append(p.answer.Files, abi.GitFetchedFile{Path: path, Mode: fmt.Sprintf("%06o", n.mode), Content: content})
	return nil
}
