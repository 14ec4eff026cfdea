package module

import "testing"

// FuzzOverlayMetadata checks that the functions that parse metadata return a known kind and a valid baseline, or else
// an error.
func FuzzOverlayMetadata(f *testing.F) {
	f.Add([]byte(`{"overlay_kind":"patch"}`))
	f.Add([]byte(`{"overlay_kind":null}`))
	f.Add([]byte(`{"version":2,"upstream_sha256":"ab","file_manifest":[{"path":"a","sha256":"b","bytes":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if kind, err := parseKind(text); err == nil && kind != KindDir && kind != KindPatch {
			t.Errorf("%q: got %q", text, kind)
		}
		if files, _, err := parseBaseline(text); err == nil && files == nil {
			t.Errorf("the baseline %q is accepted without files", text)
		}
	})
}
