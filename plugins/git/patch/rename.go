package patch

import (
	"path"
	"slices"
)

// Scores of similarity, in git's units.
const (
	maxScore      = 60_000
	minScore      = maxScore / 2
	minBaseScore  = minScore + (maxScore-minScore)/2 // for files of one name in different directories, which are compared first
	maxCandidates = 4                                // sources that are remembered for each new file
	maxPairs      = 1000 * 1000                      // git's diff.renameLimit
	maxSame       = 100                              // sources of one content that are considered
)

// renames pairs deleted and new files.
type renames struct {
	patch        *Patch
	sources      []*source
	destinations []*destination
}

type source struct {
	file *File
	used bool
	hash map[uint32]int // fingerprint of the content
}

type destination struct {
	file *File
	from *source
	// score is that of the pair with from.
	score int
	hash  map[uint32]int
}

// detectRenames replaces each deleted file and new file that are similar with one renamed file.
func (p *Patch) detectRenames() error {
	r := &renames{patch: p}
	for _, f := range p.Files {
		switch {
		case f.Unmerged != "" || f.Old != nil && f.New != nil:
		case f.Old != nil:
			r.sources = append(r.sources, &source{file: f})
		case f.New != nil && f.New.refusal == nil:
			r.destinations = append(r.destinations, &destination{file: f})
		}
	}
	if len(r.sources) == 0 || len(r.destinations) == 0 {
		return nil
	}
	r.pairEqual()
	if err := r.pairSimilar(); err != nil {
		return err
	}
	byFile := map[*File]*destination{}
	gone := map[*File]bool{}
	for _, d := range r.destinations {
		if d.from != nil {
			byFile[d.file], gone[d.from.file] = d, true
		}
	}
	p.Files = slices.DeleteFunc(p.Files, func(f *File) bool { return gone[f] })
	for _, f := range p.Files {
		if d := byFile[f]; d != nil {
			f.Old, f.Rename, f.score = d.from.file.Old, true, d.score
		}
	}
	return nil
}

func (d *destination) pair(s *source, score int) {
	d.from, d.score, s.used = s, score, true
}

// pairEqual pairs files of equal content, if possible those of one name.
func (r *renames) pairEqual() {
	byHash := map[string][]*source{}
	for _, s := range r.sources {
		byHash[s.file.Old.Hash] = append(byHash[s.file.Old.Hash], s)
	}
	for _, d := range r.destinations {
		var best *source
		left := maxSame
		for _, s := range byHash[d.file.New.Hash] {
			if s.used || (!s.file.Old.isRegular() || !d.file.New.isRegular()) && s.file.Old.Mode != d.file.New.Mode {
				continue
			}
			same := baseName(s) == path.Base(d.file.New.Path)
			if best == nil || same {
				best = s
			}
			if left--; same || left == 0 {
				break
			}
		}
		if best != nil {
			d.pair(best, maxScore)
		}
	}
}

func baseName(s *source) string { return path.Base(s.file.Old.Path) }

// pairSimilar pairs the other files by the similarity of their contents.
func (r *renames) pairSimilar() error {
	r.sources = slices.DeleteFunc(r.sources, func(s *source) bool { return s.used })
	open := slices.DeleteFunc(slices.Clone(r.destinations), func(d *destination) bool { return d.from != nil })
	if len(r.sources) == 0 || len(open) == 0 {
		return nil
	}
	if err := r.pairByName(open); err != nil {
		return err
	}
	r.sources = slices.DeleteFunc(r.sources, func(s *source) bool { return s.used })
	open = slices.DeleteFunc(open, func(d *destination) bool { return d.from != nil })
	if len(r.sources)*len(open) > maxPairs {
		return nil
	}
	var all []candidate
	for _, d := range open {
		best, err := r.candidates(d)
		if err != nil {
			return err
		}
		all = append(all, best[:]...)
	}
	slices.SortStableFunc(all, candidate.compare)
	for _, c := range all {
		if c.source != nil && c.score >= minScore && c.destination.from == nil && !c.source.used {
			c.destination.pair(c.source, c.score)
		}
	}
	return nil
}

// pairByName pairs files whose name only one deleted file and one new file have, if they are very similar.
func (r *renames) pairByName(open []*destination) error {
	sources, destinations := map[string]int{}, map[string]int{}
	byName := map[string]*destination{}
	for _, s := range r.sources {
		sources[baseName(s)]++
	}
	for _, d := range open {
		name := path.Base(d.file.New.Path)
		destinations[name]++
		byName[name] = d
	}
	for _, s := range r.sources {
		name := baseName(s)
		if sources[name] != 1 || destinations[name] != 1 {
			continue
		}
		score, err := r.similarity(s, byName[name])
		if err != nil {
			return err
		}
		if score >= minBaseScore {
			byName[name].pair(s, score)
		}
	}
	return nil
}

// candidate is a possible pair. Its zero value is no pair.
type candidate struct {
	source      *source
	destination *destination
	score       int
	sameName    bool
}

// compare orders better candidates first.
func (c candidate) compare(other candidate) int {
	switch {
	case c.source == nil || other.source == nil:
		if c.source == nil && other.source != nil {
			return 1
		}
		if c.source != nil {
			return -1
		}
		return 0
	case c.score != other.score:
		return other.score - c.score
	case c.sameName == other.sameName:
		return 0
	case c.sameName:
		return -1
	}
	return 1
}

// candidates returns the best sources of a new file.
func (r *renames) candidates(d *destination) (best [maxCandidates]candidate, err error) {
	for _, s := range r.sources {
		c := candidate{source: s, destination: d, sameName: baseName(s) == path.Base(d.file.New.Path)}
		if c.score, err = r.similarity(s, d); err != nil {
			return best, err
		}
		worst := 0
		for i := range best {
			if best[i].compare(best[worst]) > 0 {
				worst = i
			}
		}
		if best[worst].compare(c) > 0 {
			best[worst] = c
		}
	}
	return best, nil
}

// similarity returns the part of the larger file, in units of maxScore, that both files have.
func (r *renames) similarity(s *source, d *destination) (int, error) {
	before, after := s.file.Old, d.file.New
	if !before.isRegular() || !after.isRegular() {
		return 0, nil
	}
	if err := r.patch.load(before, after); err != nil {
		return 0, err
	}
	larger, smaller := max(len(before.content), len(after.content)), min(len(before.content), len(after.content))
	if larger*(maxScore-minScore) < (larger-smaller)*maxScore || len(after.content) == 0 {
		return 0, nil
	}
	if s.hash == nil {
		s.hash = fingerprint(before.content)
	}
	if d.hash == nil {
		d.hash = fingerprint(after.content)
	}
	copied := 0
	for h, n := range s.hash {
		copied += min(n, d.hash[h])
	}
	return copied * maxScore / larger, nil
}

const (
	maxChunk = 64
	hashBase = 107_927
)

// fingerprint returns the number of bytes in the lines and chunks of a content, keyed by a hash. The hash is git's, since collisions matter
// for the similarity.
func fingerprint(content []byte) map[uint32]int {
	counts := map[uint32]int{}
	text := !isBinary(content)
	var low, high uint32
	n := 0
	for i, c := range content {
		if text && c == '\r' && i+1 < len(content) && content[i+1] == '\n' {
			continue
		}
		low, high = low<<7^high>>25, high<<7^low>>25
		low += uint32(c)
		if n++; n < maxChunk && c != '\n' {
			continue
		}
		counts[(low+high*0x61)%hashBase] += n
		low, high, n = 0, 0, 0
	}
	if n > 0 {
		counts[(low+high*0x61)%hashBase] += n
	}
	return counts
}
