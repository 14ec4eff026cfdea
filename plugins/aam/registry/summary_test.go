package registry

import "testing"

// FuzzLeastSize: no row takes less than what is counted before it is written.
func FuzzLeastSize(f *testing.F) {
	f.Add("a", "", "1.0.0", "k", "")
	f.Add("'", "a\n\n b", "\x00", " ", "null")
	f.Fuzz(func(t *testing.T, name, description, latest, keyword, updated string) {
		for _, e := range []Entry{
			{Name: name, Description: description, Latest: latest, UpdatedAt: updated, Keywords: []string{}},
			{Name: name, Description: description, Latest: latest, UpdatedAt: updated, Keywords: []string{keyword, keyword, ""}, ArtifactTypes: []string{keyword}},
		} {
			data, err := encodeIndex([]Entry{e})
			if least := leastSize(e); err == nil && least > len(data) {
				t.Errorf("%+v takes %d bytes, not %d at the least:\n%s", e, len(data), least, data)
			}
		}
	})
}
