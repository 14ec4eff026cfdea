package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxAdvertised = 64 << 20 // most bytes of a list of references
	maxRefs       = 10_000   // most references in an answer
	maxNames      = 100      // most names in a request
)

// List returns the references of a remote repository.
func (c *Client) List(ctx context.Context, q abi.GitRemoteQuery) (abi.GitRemoteRefs, error) {
	if len(q.Names) > maxNames {
		return abi.GitRemoteRefs{}, hosterror.Invalid("names: there are %d: give at most %d, or none to get all references", len(q.Names), maxNames)
	}
	for _, name := range q.Names {
		if !isRef(name) {
			return abi.GitRemoteRefs{}, hosterror.Invalid("names: %q: give references in full, such as refs/heads/main, or HEAD", hosterror.Truncate(name))
		}
	}
	list := &refList{names: q.Names, refs: []abi.GitRemoteRef{}}
	err := c.connect(ctx, q.URL, func(s *session) error {
		if s.v2 {
			return s.listV2(list)
		}
		return s.listV0(list)
	})
	return abi.GitRemoteRefs{Refs: list.refs}, err
}

func isRef(name string) bool {
	return len(name) <= refs.MaxName && plumbing.ReferenceName(name).Validate() == nil
}

// refList collects the references that were requested.
type refList struct {
	names []string
	refs  []abi.GitRemoteRef
}

func (l *refList) add(ref abi.GitRemoteRef) error {
	if len(l.names) > 0 && !slices.Contains(l.names, ref.Name) {
		return nil
	}
	if len(l.refs) == maxRefs {
		return fmt.Errorf("the remote has more than %d references: request them by name", maxRefs)
	}
	for _, hash := range []string{ref.Hash, ref.Peeled} {
		if hash != "" && !plumbing.IsHash(hash) {
			return fmt.Errorf("the remote sent %q, which is not a hash", hosterror.Truncate(hash))
		}
	}
	for _, name := range []string{ref.Name, ref.Target} {
		if name != "" && !isRef(name) {
			return nil // git does not write references with such names
		}
	}
	l.refs = append(l.refs, ref)
	return nil
}

var errNoRefName = errors.New("the remote does not speak git's protocol: a reference without a name")

// listV0 parses the references that a server of protocol version 0 advertises.
func (s *session) listV0(list *refList) error {
	const noRefs = "capabilities^{}"
	for text, ok := s.firstRef, s.firstRef != ""; ok; {
		hash, name, spaced := strings.Cut(text, " ")
		tag, peeled := strings.CutSuffix(name, "^{}")
		switch {
		case !spaced:
			return errNoRefName
		case name == noRefs, hash == "shallow":
		case peeled:
			if last := len(list.refs) - 1; last >= 0 && list.refs[last].Name == tag {
				list.refs[last].Peeled = hash
			}
		default:
			ref := abi.GitRemoteRef{Name: name, Hash: hash}
			if name == "HEAD" {
				ref.Target = s.capabilities["symref"]
			}
			if err := list.add(ref); err != nil {
				return err
			}
		}
		var err error
		if text, ok, err = s.first.line(); err != nil {
			return err
		}
	}
	return nil
}

// listV2 requests only those references from the server that the list needs.
func (s *session) listV2(list *refList) error {
	if _, ok := s.capabilities["ls-refs"]; !ok {
		return errors.New("the remote does not support ls-refs")
	}
	var request packetWriter
	s.beginCommand(&request, "ls-refs")
	request.linef("peel")
	request.linef("symrefs")
	for _, name := range list.names {
		request.linef("ref-prefix %s", name)
	}
	request.special(packetFlush)
	body, err := s.post(&request, maxAdvertised)
	if err != nil {
		return err
	}
	defer body.Close()
	packets := newPacketReader(body)
	for {
		text, ok, err := packets.line()
		if err != nil || !ok {
			return err
		}
		words := strings.Split(text, " ")
		if len(words) < 2 {
			return errNoRefName
		}
		ref := abi.GitRemoteRef{Hash: words[0], Name: words[1]}
		for _, word := range words[2:] {
			if target, ok := strings.CutPrefix(word, "symref-target:"); ok {
				ref.Target = target
			} else if hash, ok := strings.CutPrefix(word, "peeled:"); ok {
				ref.Peeled = hash
			}
		}
		if err := list.add(ref); err != nil {
			return err
		}
	}
}
