package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signedfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// The ages for Load up to which a catalogue that was fetched is used without asking for a newer one.
const (
	FreshTime = time.Hour
	Offline   = time.Duration(math.MaxInt64) // nothing is fetched
)

// fetchTime bounds the time in which all catalogues are fetched.
const fetchTime = time.Minute

var errNoCopy = errors.New("no copy of it is kept, and nothing is fetched")

var errTooSlow = fmt.Errorf("the catalogues could not be fetched within %s", fetchTime)

// List is a catalogue that is in force.
type List struct {
	From   string    // its address, for messages
	At     string    // where the config or the ceiling names it; empty for the one that comes with the program
	Serial int64     // 0: there is no usable copy
	Kept   time.Time // when it was fetched; zero value if it comes with the program
	// Problem is why it could not be fetched now. If Serial is set, an earlier copy is used.
	Problem error
	// LeftOut are the entries that are not used, because another key than a pinned one signed them.
	LeftOut []LeftOut

	entries []Entry
}

// Trouble returns the text of Problem without the address of the catalogue.
func (l List) Trouble() string { return strings.TrimPrefix(l.Problem.Error(), l.From+": ") }

// LeftOut is an entry that is not used.
type LeftOut struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Why     string `json:"why"`
}

// Sources are the catalogues that are in force, and the plugins that come with the program.
type Sources struct {
	Lists []List // first those of the config or the ceiling, in their order
	// Unused says why the catalogues of the config are not used; nil if they are, or if there are none.
	Unused error

	admission *discovery.Admission
	revoked   map[string]string // see Revoke
	named     []config.Catalogue
	pins      []config.Sources // of the ceiling and the config
	dir       signedfile.Dir
	program   *List // the catalogue beside the plugins of the program; nil: there is none
	installed []Entry
	plugins   map[string]string // directories of the installed plugins
	// looks are the names of plugins, by their appearance and signer.
	looks map[string]map[signature.Key]map[string]bool
	why   error // why there are no installed plugins
}

// Open finds the catalogues: those of the ceiling, or if it names none those of the config, which must be trusted. It fetches nothing.
func Open(o discovery.Options) (*Sources, error) {
	s := &Sources{plugins: map[string]string{}, revoked: map[string]string{}}
	var err error
	if s.dir, err = discovery.Catalogues(o.System); err != nil {
		return nil, err
	}
	ceiling, err := discovery.FindCeiling(o.System)
	if err != nil {
		return nil, err
	}
	own, err := s.ofConfig(o)
	if err != nil {
		return nil, err
	}
	if s.admission, err = discovery.FindAdmission(o, &config.Config{Sources: own}); err != nil {
		return nil, err
	}
	s.named, s.pins = own.Catalogues, []config.Sources{own}
	if ceiling != nil {
		s.pins = append(s.pins, ceiling.Sources)
		if ceiling.Sources.Catalogues != nil {
			s.named = ceiling.Sources.Catalogues
		}
	}
	s.ofProgram(o)
	return s, nil
}

// ofConfig returns the table of the config that is in force.
func (s *Sources) ofConfig(o discovery.Options) (config.Sources, error) {
	at, err := discovery.FindConfig(o)
	if err != nil {
		return config.Sources{}, err
	}
	data, err := tomlfile.ReadFile(at.File)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Sources{}, nil
	}
	if err != nil {
		return config.Sources{}, usage.Errorf("%s: %w", at.File, err)
	}
	c, problems, err := discovery.ParseTrusted(o, at, data)
	if untrusted := (*discovery.UntrustedError)(nil); errors.As(err, &untrusted) {
		s.Unused = err
		return config.Sources{}, nil
	}
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return config.Sources{}, &usage.Error{Err: err}
	}
	return c.Sources, nil
}

// ofProgram finds the plugins that come with the program, and the catalogue beside them.
func (s *Sources) ofProgram(o discovery.Options) {
	found, dir, err := discovery.Installed(o)
	s.why = err
	for _, p := range found {
		if p.Problems.Err() != nil || p.Manifest == nil {
			continue
		}
		m := p.Manifest
		s.installed = append(s.installed, Entry{Name: m.Name, Version: m.Version, Description: m.Description, SHA256: m.Digest, Revoked: s.Revoked(m.Digest, m.Module.SHA256)})
		s.plugins[m.Name] = m.Dir
	}
	at := source.Reference{Kind: source.File, Path: filepath.Join(dir, FileName)}
	data, err := tomlfile.ReadFile(at.Path)
	if errors.Is(err, fs.ErrNotExist) || dir == "" {
		return
	}
	s.program = &List{From: at.Path, Problem: err}
	if err == nil {
		err = ownedpath.CheckEntry(at.Path)
	}
	if err != nil {
		s.program.Problem = errors.New(ownedpath.Explain(err))
		return
	}
	c, problems := Parse(at, data)
	if s.program.Problem = problems.Err(); s.program.Problem == nil {
		s.use(s.program, c)
	}
}

// Load reads the catalogues. A copy that was fetched within maxAge is used as it is; otherwise the catalogue is fetched and verified, and if that
// fails, an earlier copy is used. fetcher returns the Fetcher for an address.
func (s *Sources) Load(ctx context.Context, maxAge time.Duration, fetcher func(from string) *source.Fetcher) error {
	bounded, cancel := context.WithTimeoutCause(ctx, fetchTime, errTooSlow)
	defer cancel()
	lists := make([]List, len(s.named))
	catalogues := make([]*Catalogue, len(s.named))
	var wait sync.WaitGroup
	for i, named := range s.named {
		wait.Go(func() { lists[i], catalogues[i] = s.load(bounded, named, maxAge, fetcher) })
	}
	wait.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for i, c := range catalogues {
		if c != nil {
			s.use(&lists[i], c)
		}
	}
	if s.Lists = lists; s.program != nil {
		s.Lists = append(s.Lists, *s.program)
	}
	s.indexAppearances()
	return nil
}

// use takes the entries of a catalogue whose signers no pinned key contradicts.
func (s *Sources) use(l *List, c *Catalogue) {
	l.Serial = c.Serial
	for _, e := range c.Entries {
		why := ""
		for _, pins := range s.pins {
			if why == "" {
				why = pins.KeysOf(e.Name).Problem(e.Signer)
			}
		}
		if why != "" {
			l.LeftOut = append(l.LeftOut, LeftOut{e.Name, e.Version, why})
			continue
		}
		if e.Revoked = s.revoked[e.SHA256]; e.Revoked == "" {
			e.Revoked = s.Revoked(e.SHA256)
		}
		l.entries = append(l.entries, e)
	}
}

// Revoked says that a list of revoked plugins names one of the digests, those of a manifest and of a module; empty if none does.
func (s *Sources) Revoked(digests ...string) string { return s.admission.Revoked(digests...) }

// Revoke notes why the version with the manifest of a digest is revoked. A catalogue does not say which module a version has, so that this can be
// known only after it was fetched.
func (s *Sources) Revoke(digest, why string) {
	s.revoked[digest] = why
	for _, l := range s.Lists {
		for i := range l.entries {
			if l.entries[i].SHA256 == digest {
				l.entries[i].Revoked = why
			}
		}
	}
}

// load returns a catalogue, or nil if there is neither a new nor an earlier copy.
func (s *Sources) load(ctx context.Context, named config.Catalogue, maxAge time.Duration, fetcher func(from string) *source.Fetcher) (List, *Catalogue) {
	l := List{At: named.At()}
	at, err := source.ParseDocument(named.From)
	if err != nil {
		l.From, l.Problem = "?", err // the address can contain a secret
		return l, nil
	}
	l.From = at.Address()
	kept, err := s.dir.Read(named.From, named.Key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Problem = err
	}
	if kept == nil && maxAge == Offline && at.Kind != source.File {
		l.Problem = cmp.Or(l.Problem, errNoCopy)
		return l, nil
	}
	if age := time.Since(keptTime(kept)); kept == nil || at.Kind == source.File || age < 0 || age > maxAge {
		fetched, ferr := s.fetch(ctx, named, at, fetcher)
		if l.Problem = ferr; ferr == nil {
			kept = fetched
		}
	}
	if kept == nil {
		return l, nil
	}
	c, problems := Parse(at, kept.Content)
	if err := problems.Err(); err != nil {
		l.Problem = err
		return l, nil
	}
	l.Kept = kept.Kept
	return l, c
}

func keptTime(f *signedfile.File) time.Time {
	if f == nil {
		return time.Time{}
	}
	return f.Kept
}

// fetch fetches and keeps a catalogue. It is parsed before it is kept, so that one that is not valid replaces nothing.
func (s *Sources) fetch(ctx context.Context, named config.Catalogue, at source.Reference, fetcher func(from string) *source.Fetcher) (*signedfile.File, error) {
	got, err := fetcher(named.From).Document(ctx, named.From, named.Key)
	if err != nil {
		return nil, err
	}
	err = s.dir.Put(ctx, named.From, named.Key, got, func(content []byte) (int64, error) {
		c, problems := Parse(at, content)
		if err := problems.Err(); err != nil {
			return 0, err
		}
		return c.Serial, nil
	})
	if err != nil {
		return nil, err
	}
	got.Kept = time.Now()
	return got, nil
}
