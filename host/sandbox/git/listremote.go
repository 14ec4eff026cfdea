package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxAdvertised = 64 << 20 // bytes of a list of references
	maxRemoteRefs = 10_000   // that ListRemote gives
	maxNamed      = 100      // that it is asked for by name
)

// ListRemote gives references that a remote repository has.
func (o *Ops) ListRemote(ctx context.Context, q abi.GitRemoteQuery) (abi.GitRemoteRefs, error) {
	if len(q.Names) > maxNamed {
		return abi.GitRemoteRefs{}, invalid("names: %d of them: give at most %d, or none for all", len(q.Names), maxNamed)
	}
	for _, name := range q.Names {
		if len(name) > maxBranch || plumbing.ReferenceName(name).Validate() != nil {
			return abi.GitRemoteRefs{}, invalid("names: %q: give references in full, such as refs/heads/main, or HEAD", shorten(name))
		}
	}
	answer := abi.GitRemoteRefs{Refs: []abi.GitRemoteRef{}}
	err := o.remote(ctx, q.URL, func(s *session) (err error) {
		list := &remoteList{names: q.Names}
		if s.v2 {
			err = s.listV2(list)
		} else {
			err = s.listV0(list)
		}
		answer.Refs = append(answer.Refs, list.refs...)
		return err
	})
	if err != nil {
		return abi.GitRemoteRefs{}, err
	}
	return answer, nil
}

// readCapabilities reads how an answer begins. Of version 0 the first reference stands before them, and
// is put back for the list.
func (s *session) readCapabilities(service string) error {
	text, ok, err := s.first.line()
	if err == nil && text == service {
		if _, ok, err = s.first.line(); err == nil && ok {
			return errors.New("the remote does not speak git's protocol: no end of its service's name")
		}
		text, ok, err = s.first.line()
	}
	if err == nil && text == "version 1" {
		text, ok, err = s.first.line()
	}
	if err != nil {
		return err
	}
	if s.v2 = text == "version 2"; !s.v2 {
		if !ok { // an empty repository of an old server
			return nil
		}
		ref, list, _ := strings.Cut(text, "\x00")
		for word := range strings.FieldsSeq(list) {
			s.addCapability(word)
		}
		s.capabilities[firstRef] = ref
		return s.checkRemoteFormat()
	}
	for len(s.capabilities) < 100 {
		if text, ok, err = s.first.line(); err != nil {
			return err
		}
		if !ok {
			return s.checkRemoteFormat()
		}
		s.addCapability(text)
	}
	return errors.New("the remote can do over 100 things")
}

// firstRef is under what the first reference of version 0 is kept; no capability has a space.
const firstRef = "first ref"

func (s *session) addCapability(text string) {
	key, value, _ := strings.Cut(text, "=")
	if key == "symref" { // there may be several; that of HEAD counts
		if target, ok := strings.CutPrefix(value, "HEAD:"); ok {
			s.capabilities[key] = target
		}
		return
	}
	s.capabilities[key] = value
}

func (s *session) checkRemoteFormat() error {
	if format, ok := s.capabilities["object-format"]; ok && format != "sha1" {
		return fmt.Errorf("a repository of %q hashes; only SHA-1 repositories are supported", shorten(format))
	}
	return nil
}

// remoteList collects the references that were asked for.
type remoteList struct {
	names []string
	refs  []abi.GitRemoteRef
}

func (l *remoteList) add(ref abi.GitRemoteRef) error {
	if len(l.names) > 0 && !slices.Contains(l.names, ref.Name) {
		return nil
	}
	if len(l.refs) == maxRemoteRefs {
		return fmt.Errorf("over %d references; name those that are wanted", maxRemoteRefs)
	}
	for _, hash := range []string{ref.Hash, ref.Peeled} {
		if hash != "" && !plumbing.IsHash(hash) {
			return fmt.Errorf("the remote gives %q as a hash", shorten(hash))
		}
	}
	for _, name := range []string{ref.Name, ref.Target} {
		if name != "" && (len(name) > maxBranch || plumbing.ReferenceName(name).Validate() != nil) {
			return nil // git cannot have written it
		}
	}
	l.refs = append(l.refs, ref)
	return nil
}

// listV0 reads the references that follow the capabilities of version 0.
func (s *session) listV0(list *remoteList) error {
	const noRefs = "capabilities^{}"
	text, ok := s.capabilities[firstRef]
	for ok {
		hash, name, spaced := strings.Cut(text, " ")
		tag, peeled := strings.CutSuffix(name, "^{}")
		switch {
		case !spaced:
			return errors.New("the remote does not speak git's protocol: a reference without a name")
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

// listV2 asks for the references, and only for those that are wanted.
func (s *session) listV2(list *remoteList) error {
	if _, ok := s.capabilities["ls-refs"]; !ok {
		return errors.New("the remote lists no references")
	}
	var request packetWriter
	s.command(&request, "ls-refs")
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
	answer := newPackets(body)
	for {
		text, ok, err := answer.line()
		if err != nil || !ok {
			return err
		}
		words := strings.Split(text, " ")
		if len(words) < 2 {
			return errors.New("the remote does not speak git's protocol: a reference without a name")
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

// command begins a request of version 2.
func (s *session) command(request *packetWriter, name string) {
	request.linef("command=%s", name)
	if _, ok := s.capabilities["object-format"]; ok {
		request.linef("object-format=sha1")
	}
	request.special(packetDelim)
}
