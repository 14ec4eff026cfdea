package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxPack        = 64 << 20  // most bytes of a pack
	maxPreamble    = 1_000_000 // most packets before a pack
	maxFilesOnPage = 1000
)

// Fetch returns one page of the files of a commit of a remote repository. A page has at most 1,000 files, and at most git.Config.MaxFile bytes of
// content. Nothing is kept between pages: each call fetches the commit again, without its history if the server supports that.
//
// Fetch refuses a commit with a path that a checkout could write into .git, or with a file larger than git.Config.MaxFile.
func (c *Client) Fetch(ctx context.Context, q abi.GitFetch) (abi.GitFetched, error) {
	page := &page{dir: strings.TrimSuffix(q.Folder, "/"), after: q.After, limit: c.maxFile}
	if !plumbing.IsHash(q.Commit) {
		return abi.GitFetched{}, hosterror.Invalid("commit: %q: give a full hash; git/list_remote finds that of a branch or tag", hosterror.Truncate(q.Commit))
	}
	if page.dir != "" {
		if err := objects.CheckPath(page.dir); err != nil {
			return abi.GitFetched{}, err
		}
		page.dir += "/"
	}
	if len(q.After) > objects.MaxPath {
		return abi.GitFetched{}, hosterror.Invalid("after: a path of %d bytes is too long: give the last path of the previous page", len(q.After))
	}
	hash := plumbing.NewHash(q.Commit)
	err := c.connect(ctx, q.URL, func(s *session) error {
		select {
		case c.fetches <- struct{}{}:
			defer func() { <-c.fetches }()
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		pack, err := s.fetchPack(hash)
		if err != nil {
			return err
		}
		page.store, err = objects.FromPack(s.ctx, pack)
		if err != nil {
			return err
		}
		return page.fill(hash)
	})
	return page.answer, err
}

// fetchPack requests one commit without its history, and returns the pack that the remote sends.
func (s *session) fetchPack(commit plumbing.Hash) ([]byte, error) {
	var request packetWriter
	if s.v2 {
		s.beginCommand(&request, "fetch")
		request.linef("no-progress")
		request.linef("ofs-delta")
		if strings.Contains(s.capabilities["fetch"], "shallow") {
			request.linef("deepen 1")
		}
		request.linef("want %s", commit)
		request.linef("done")
		request.special(packetFlush)
	} else if err := s.writeWantV0(&request, commit); err != nil {
		return nil, err
	}
	// The limit allows for packet framing and progress messages in addition to the pack.
	body, err := s.post(&request, maxPack+maxPack/8)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	packets := newPacketReader(body)
	if err := s.skipToPack(packets); err != nil {
		return nil, err
	}
	return io.ReadAll(&limitedReader{&sideband{packets: packets}, maxPack, maxPack})
}

func (s *session) writeWantV0(request *packetWriter, commit plumbing.Hash) error {
	if _, ok := s.capabilities["side-band-64k"]; !ok {
		return errors.New("the remote does not support side-band-64k")
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

// skipToPack skips what precedes the pack: the shallow boundary and the acknowledgment.
func (s *session) skipToPack(packets *packetReader) error {
	for range maxPreamble {
		text, _, err := packets.line()
		switch {
		case err != nil:
			return err
		case s.v2 && text == "packfile", !s.v2 && text == "NAK":
			return nil
		}
	}
	return errors.New("the remote sent no pack")
}

// page collects one page of a commit's files.
type page struct {
	store       *objects.Store
	dir         string // empty, or a path such as "a/b/": only files below it belong to the page
	after       string // only files whose paths are greater than this one belong to the page
	limit, size int64
	answer      abi.GitFetched
}

func (p *page) fill(hash plumbing.Hash) error {
	p.answer.Files = []abi.GitFetchedFile{}
	c, err := p.store.Commit(hash)
	if err != nil {
		return err
	}
	w := &objects.Walk{Store: p.store, Visit: p.add, SkipDir: p.skipsDir}
	if err := w.Tree(c.Tree); err != objects.ErrStop {
		return err
	}
	p.answer.More = true
	return nil
}

// skipsDir reports whether all files below the directory dir belong to earlier pages.
func (p *page) skipsDir(dir string) bool {
	inside := strings.HasPrefix(dir, p.dir) || strings.HasPrefix(p.dir, dir)
	return !inside || dir < p.after && !strings.HasPrefix(p.after, dir)
}

// add validates every path that the walk visits, even if that path does not belong to this page: a module writes the files that it gets.
func (p *page) add(path string, e objects.TreeEntry) error {
	switch objects.ReservedName(path) {
	case ".git", ".", "..":
		return fmt.Errorf("the commit contains the path %q, which some file systems resolve into .git or a parent directory", hosterror.Truncate(path))
	}
	if !utf8.ValidString(path) {
		return fmt.Errorf("the commit contains the path %q, which is not UTF-8", hosterror.Truncate(path))
	}
	if !strings.HasPrefix(path, p.dir) || path <= p.after || e.Mode == objects.ModeSubmodule {
		return nil
	}
	if len(p.answer.Files) == maxFilesOnPage {
		return objects.ErrStop
	}
	content, err := p.store.Get(e.Hash, plumbing.BlobObject, p.limit)
	if err != nil {
		return fmt.Errorf("%s: %w", hosterror.Truncate(path), err)
	}
	if p.size += int64(len(content)); p.size > p.limit && len(p.answer.Files) > 0 {
		return objects.ErrStop
	}
	p.answer.Files = append(p.answer.Files, abi.GitFetchedFile{Path: path, Mode: fmt.Sprintf("%06o", e.Mode), Content: content})
	return nil
}
