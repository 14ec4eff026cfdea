package dispatch

import (
	"context"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/projectskills"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

// projectSkills returns where the skills of the project are that the clients of the view get.
func (v *view) projectSkills() projectskills.Source {
	return projectskills.Of(v.catalog, v.generation.writable())
}

// awaitProjectRead waits until no other request reads skills of a project. done must be called if the error is nil.
func (v *view) awaitProjectRead(ctx context.Context) (done func(), err error) {
	turn := v.generation.dispatcher.projectReads
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// loadProjectSkill returns a skill of the project; nil if there is none.
func (v *view) loadProjectSkill(ctx context.Context, name string) (*skills.Skill, error) {
	done, err := v.awaitProjectRead(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	dir, err := v.projectSkills().Open(name)
	if err != nil || dir == nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Load()
}

// listProjectSkills returns the skills of the project that can be read. It logs why others cannot.
func (v *view) listProjectSkills(ctx context.Context) []*skills.Skill {
	if !v.catalog.HasProjectSkills() {
		return nil
	}
	done, err := v.awaitProjectRead(ctx)
	if err != nil {
		return nil
	}
	defer done()
	list, problems := v.projectSkills().List()
	v.reportProjectSkills(problems)
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

// stillOffersProjectSkills reports whether the current configuration offers the same skills of the project as the view.
func (v *view) stillOffersProjectSkills() bool {
	current := v.generation.dispatcher.current.Load()
	if current == v.generation {
		return true
	}
	now := current.view(v.catalog.Key)
	return now != nil && now.catalog.OffersSkillsOf(v.catalog)
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
