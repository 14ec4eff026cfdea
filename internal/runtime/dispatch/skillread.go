package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/projectskills"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Bounds of the requests that read skills, or whose large response is not yet written. They bound memory and processor time, and principals
// take turns.
const (
	maxSkillReads          = 8
	maxPrincipalSkillReads = 2 // of one principal
	skillPatience          = 30 * time.Second
)

// awaitSkillRead waits until the request q may read skills. done must be called if the error is nil.
func (v *view) awaitSkillRead(ctx context.Context, q gateway.Queued, r *call.Request) (done func(), err error) {
	principal := ""
	if r.Principal != nil {
		principal = r.Principal.ID
	}
	reads, p := &v.generation.dispatcher.skillReads, &place{}
	reads.enter(p, principal, false)
	if err := p.start(ctx, skillPatience); err != nil {
		p.leave()
		if errors.Is(err, errNoSlot) {
			err = q.Failure(string(engine.CodeQueue),
				fmt.Sprintf("waited for %s, but other requests for skills did not end: read their responses, or send fewer requests at a time", skillPatience))
		}
		return nil, err
	}
	return func() {
		p.leave()
		p.release()
	}, nil
}

// skillCache has the skills that a generation has read whose digests are in their manifests.
type skillCache struct {
	pinned sync.Map // *skills.Skill by digest and path
}

// load returns a skill, whose directory is dir. It reads the files, unless they have been read and the manifest has their digest.
func (c *skillCache) load(ctx context.Context, s *catalog.Skill, dir *skills.Dir) (*skills.Skill, error) {
	if s.SHA256 == "" {
		return dir.Load(ctx)
	}
	key := s.SHA256 + s.Plugin.Manifest.Dir + "\x00" + s.Path
	if have, ok := c.pinned.Load(key); ok {
		return have.(*skills.Skill), nil
	}
	loaded, err := dir.Load(ctx)
	if err != nil {
		return nil, err
	}
	if loaded.Digest() != s.SHA256 {
		return nil, fmt.Errorf("its files have the digest %s, and the manifest has %s", loaded.Digest(), s.SHA256)
	}
	c.pinned.Store(key, loaded)
	return loaded, nil
}

// projectSkills returns where the skills of the project are that the clients of the view get.
func (v *view) projectSkills() projectskills.Source {
	return projectskills.Of(v.catalog, v.generation.writable())
}

// openSkill opens and reads a skill. The results are nil if there is none that the clients of the view get, else the caller must close dir.
func (v *view) openSkill(ctx context.Context, s *catalog.Skill) (dir *skills.Dir, loaded *skills.Skill, err error) {
	if s.Plugin == nil {
		dir, err = v.projectSkills().Open(s.Name)
	} else {
		dir, err = skills.Open(s.Plugin.Manifest.Dir, s.Path)
	}
	if err == nil && dir != nil {
		loaded, err = v.generation.skills.load(ctx, s, dir)
	}
	switch {
	case err != nil:
		err = v.unreadable(ctx, s, err)
	case dir == nil, !v.withholds(s, loaded):
		return dir, loaded, nil
	}
	if dir != nil {
		dir.Close()
	}
	return nil, nil, err
}

// unreadable logs why a skill cannot be read, and returns the error for clients. It is nil if the skill may be one that a filter withholds:
// that depends on the names of all files, which are not known, and the reason may contain one.
func (v *view) unreadable(ctx context.Context, s *catalog.Skill, reason error) error {
	log, owner := v.catalog.Options.Log, "the project"
	if s.Plugin != nil {
		log, owner = s.Plugin.Log, "plugin "+s.Plugin.Name
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.Plugin == nil && errors.Is(reason, skills.ErrNoInstructions): // it was removed since it was found
		return nil
	}
	log.Error("a skill cannot be read", "skill", s.Name, "reason", reason.Error())
	if v.catalog.FiltersSkill(s) {
		return nil
	}
	return &abi.Error{Code: abi.CodeInternal, Message: fmt.Sprintf("the skill %s of %s cannot be read: %v", s.Name, owner, reason)}
}

// withholds reports whether a filter withholds one of the files of a skill.
func (v *view) withholds(s *catalog.Skill, loaded *skills.Skill) bool {
	return slices.ContainsFunc(loaded.Files, func(f skills.File) bool { return !v.catalog.AllowsSkillFile(s, f.Path) })
}

// stillOffers reports whether the current configuration grants what the skill is read with. A request may have waited since it was found.
func (v *view) stillOffers(s *catalog.Skill) bool {
	if s.Plugin == nil {
		return v.stillOffersProjectSkills()
	}
	return v.plugins[s.Plugin.Index].checkGrant("") == nil
}

// stillOffersProjectSkills reports whether the current configuration offers the same skills of the project as the view.
func (v *view) stillOffersProjectSkills() bool {
	current := v.generation.dispatcher.current.Load()
	if current == v.generation {
		return true
	}
	now := current.view(v.catalog.Key)
	return now != nil && now.catalog.OffersSkillsOf(v.catalog)
}

// skillPart returns the skills as a part of the list that q requests. item encodes one. Skills that cannot be read, or are not offered any more, are left out.
func (v *view) skillPart(ctx context.Context, q gateway.Queued, r *call.Request, item func(*catalog.Skill, *skills.Skill) []byte) (catalog.Part, error) {
	done, err := v.awaitSkillRead(ctx, q, r)
	if err != nil {
		return catalog.Part{}, err
	}
	defer done()
	var keys []string
	items := map[string][]byte{}
	add := func(s *catalog.Skill, loaded *skills.Skill) {
		keys = append(keys, s.Instructions())
		items[s.Instructions()] = item(s, loaded)
	}
	for _, s := range v.catalog.Skills() {
		if !v.stillOffers(s) {
			continue
		}
		if dir, loaded, _ := v.openSkill(ctx, s); dir != nil { // the error is in the log
			dir.Close()
			add(s, loaded)
		}
	}
	for _, loaded := range v.listProjectSkills(ctx) {
		if s := catalog.ProjectSkill(loaded.Name); !v.withholds(s, loaded) {
			add(s, loaded)
		}
	}
	return catalog.HostPart(keys, items), ctx.Err()
}

// listProjectSkills returns the skills of the project that can be read. It logs why others cannot.
func (v *view) listProjectSkills(ctx context.Context) []*skills.Skill {
	if !v.catalog.HasProjectSkills() || !v.stillOffersProjectSkills() {
		return nil
	}
	list, problems := v.projectSkills().List(ctx)
	if ctx.Err() == nil {
		v.reportProjectSkills(problems)
	}
	return list
}

// maxSkillProblems bounds the problems of skills of the project that are logged at once.
const maxSkillProblems = 10

// reportProjectSkills logs problems unless they were logged last.
func (v *view) reportProjectSkills(problems tomlfile.Problems) {
	key := v.catalog.Key
	key.Dir = "" // there are too many of them
	if !v.generation.dispatcher.projectSkillProblems.replace(key, problems.Error()) {
		return
	}
	for i, p := range problems {
		if i == maxSkillProblems {
			v.catalog.Options.Log.Warn("there are more problems of skills of the project: `bulkhead doctor` shows them", "problems", len(problems)-i)
			break
		}
		v.catalog.Options.Log.Warn(p.String())
	}
}

// lastText has a text for each key.
type lastText struct {
	mu    sync.Mutex
	texts map[catalog.Key]string
}

// replace sets the text of a key, and reports whether it was a different one.
func (l *lastText) replace(key catalog.Key, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts[key] == text {
		return false
	}
	if l.texts == nil {
		l.texts = map[catalog.Key]string{}
	}
	l.texts[key] = text
	return true
}
