package id_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/id"
)

func TestBase36(t *testing.T) {
	for number, text := range map[uint64]string{
		0: "000", 10: "00a", 35: "00z", 36: "010", 999: "0rr", 1000: "0rs", 46655: "zzz", 46656: "1000",
	} {
		t.Run(fmt.Sprintf("%d is %s", number, text), func(t *testing.T) {
			if got := id.Encode(number); got != text {
				t.Errorf("Encode = %q, want %q", got, text)
			}
			if got, ok := id.Decode(text); !ok || got != number {
				t.Errorf("Decode = %d, %v, want %d", got, ok, number)
			}
		})
	}
	for _, bad := range []string{"", "00A", "0-1", "+1", "é", "zzzzzzzzzzzzzzzz"} {
		if got, ok := id.Decode(bad); ok {
			t.Errorf("Decode(%q) = %d, want false", bad, got)
		}
	}
}

func TestSuffix(t *testing.T) {
	t.Run("three characters of base 36", func(t *testing.T) {
		shape := regexp.MustCompile(`^[0-9a-z]{3}$`)
		seen := map[string]bool{}
		for range 50 {
			got, err := id.Suffix(rand.Reader)
			if err != nil || !shape.MatchString(got) {
				t.Fatalf("Suffix = %q, %v", got, err)
			}
			seen[got] = true
		}
		if len(seen) < 25 {
			t.Errorf("only %d of 50 suffixes are distinct", len(seen))
		}
	})
	t.Run("biased bytes are rejected", func(t *testing.T) {
		got, err := id.Suffix(bytes.NewReader([]byte{255, 252, 0, 251, 35}))
		if err != nil || got != "0zz" {
			t.Errorf("Suffix = %q, error %v, want 0zz", got, err)
		}
	})
	t.Run("an error of the random source is returned", func(t *testing.T) {
		if got, err := id.Suffix(iotest.ErrReader(errors.New("dry"))); err == nil {
			t.Errorf("Suffix = %q, want an error", got)
		}
	})
}

func TestNext(t *testing.T) {
	const day = "2026-03-01"
	tests := []struct {
		name  string
		names []string
		want  string
	}{
		{"one more than the highest, members included", []string{day + "-009-xxx.md", day + "-00a-yyy.2.md"}, "00b"},
		{"an empty day begins at one", nil, "001"},
		{"other days do not count", []string{"2026-02-28-00z-abc.md"}, "001"},
		{"only spec files count", []string{day + "-005-abc.tmp", day + "-006-abc"}, "001"},
		{"hand-made names do not count", []string{day + "-notes.md", day + "-NEW-abc.md"}, "001"},
		{"more than three digits", []string{day + "-zzz-abc.md"}, "1000"},
		{"a word instead of a sequence number does not count", []string{day + "-refactoring-abc.md"}, "001"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := id.Encode(id.Next(test.names, day)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	t.Run("members of a driver", func(t *testing.T) {
		for member, want := range map[string]bool{"d.1": true, "d.2.1": true, "d.x": true, "d": false, "d.": false, "dd.1": false} {
			if got := id.IsMember(member, "d"); got != want {
				t.Errorf("IsMember(%q, d) = %v", member, got)
			}
		}
	})
	t.Run("drivers and numbers", func(t *testing.T) {
		type result struct {
			Driver string
			Ok     bool
			Number int
		}
		for text, want := range map[string]result{
			"d.2.1":                    {"d", true, 2},
			"d.10":                     {"d", true, 10},
			"d.abc":                    {"", false, 0},
			"d":                        {"", false, 0},
			"d.":                       {"", false, 0},
			"release-1.5-notes":        {"release-1", true, 5},
			"d.99999999999999999999.1": {"d", true, math.MaxInt},
		} {
			driver, ok := id.Driver(text)
			if got := (result{driver, ok, id.Number(text)}); got != want {
				t.Errorf("%q: got %+v, want %+v", text, got, want)
			}
		}
	})
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name string
		want []string
	}{
		{"members by number after their driver", []string{"d", "d.1", "d.2", "d.3", "d.10"}},
		{"sequence numbers by value", []string{"2026-01-01-00z-yyy", "2026-01-01-010-xxx", "2026-01-01-zzz-aaa", "2026-01-01-1000-aaa"}},
		{"a driver before its member, drivers in order", []string{"abc", "abc.1", "def", "def.1"}},
		{"equal sequence numbers by suffix", []string{"2026-01-28-008-b9f", "2026-01-28-008-tv2"}},
		{"nested members after their driver", []string{"d.2", "d.2.1", "d.3"}},
		{"five short parts", []string{"a-b-c-d-e", "a-b-c-d-f", "b-b-c-d-a"}},
		{"hand-made ids as strings", []string{"001-zebra", "002-ant", "2026-01-01-001-abc", "readme"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := slices.Clone(test.want)
			slices.Reverse(got)
			slices.SortFunc(got, id.Compare)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Run("parts of an id", func(t *testing.T) {
		for text, want := range map[string]id.Parts{
			"backend:auth-2026-01-27-001-abc.5": {Repository: "backend", Project: "auth", Base: "2026-01-27-001-abc", Member: "5"},
			"2026-01-27-001-abc":                {Base: "2026-01-27-001-abc"},
			"my-app-2026-01-27-001-abc.3.2":     {Project: "my-app", Base: "2026-01-27-001-abc", Member: "3.2"},
			"001-risky-refactor":                {Base: "001-risky-refactor"},
			"back_end-2:001-x":                  {Repository: "back_end-2", Base: "001-x"},
		} {
			got, err := id.Parse(text)
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-want +got)\n%s", text, diff)
			}
		}
	})
	t.Run("strings that are not ids", func(t *testing.T) {
		for _, text := range []string{":x", "back@end:x", "backend.com:x", "", "backend:", "a:b:c"} {
			if got, err := id.Parse(text); !errors.Is(err, id.ErrSyntax) {
				t.Errorf("%q: got %+v, %v, want ErrSyntax", text, got, err)
			}
		}
	})
}

func TestResolve(t *testing.T) {
	const today = "2026-03-01"
	tests := []struct {
		name string
		ids  []string
		text string
		want string // the expected id, or the expected text of the error
	}{
		{"the id itself", []string{"a", "ba"}, "a", "a"},
		{"a unique suffix", []string{"2026-02-03-001-2mk", "2026-02-03-002-abc"}, "2mk", "2026-02-03-001-2mk"},
		{"nothing matches", []string{"2026-02-03-001-2mk"}, "xyz", "Spec not found: xyz"},
		{"three bytes are today's sequence number", []string{"2026-02-28-001-bbb", today + "-001-aaa"}, "001", today + "-001-aaa"},
		{
			"today's driver and its members are ambiguous",
			[]string{today + "-001-aaa.1", today + "-001-aaa", "other"}, "001",
			"Ambiguous spec ID '001'. Matches: " + today + "-001-aaa, " + today + "-001-aaa.1",
		},
		{"a suffix has precedence over today's sequence number", []string{today + "-001-aaa", "task-001"}, "001", "task-001"},
		{
			"several ids contain it",
			[]string{"2026-01-22-003-c", "2026-01-22-001-a", "2026-01-22-002-b"}, "22-00",
			"Ambiguous spec ID '22-00'. Matches: 2026-01-22-001-a, 2026-01-22-002-b, 2026-01-22-003-c",
		},
		{"one id contains it", []string{"001-risky-refactor", "002-other"}, "risky", "001-risky-refactor"},
		{"case matters", []string{"abc"}, "ABC", "Spec not found: ABC"},
		{"the empty string matches the only id", []string{"abc"}, "", "abc"},
		{"the empty string matches all", []string{"b", "a"}, "", "Ambiguous spec ID ''. Matches: a, b"},
		{"no ids", nil, "", "Spec not found: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := id.Resolve(test.ids, test.text, today)
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func ExampleResolve() {
	found, _ := id.Resolve([]string{"2026-03-01-001-a1b", "2026-03-01-002-k4z"}, "k4z", "2026-03-01")
	fmt.Println(found)
	// Output: 2026-03-01-002-k4z
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{"2026-01-27-001-abc.5", "backend:auth-2026-01-27-001-abc", "-----", "a.1.2", "é-é-é-0-é.9", ""} {
		f.Add(seed, "2026-01-27-00z-abc")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if id.Compare(a, b) != -id.Compare(b, a) || (id.Compare(a, b) == 0) != (a == b) {
			t.Errorf("Compare of %q and %q is inconsistent", a, b)
		}
		if driver, ok := id.Driver(a); ok && (!id.IsMember(a, driver) || id.Compare(driver, a) >= 0) {
			t.Errorf("%q is not a member of, or not ordered after, its driver %q", a, driver)
		}
		if parts, err := id.Parse(a); err == nil && !strings.HasSuffix(a, parts.Base) && parts.Member == "" {
			t.Errorf("the id %q does not end with its base %q", a, parts.Base)
		}
		found, err := id.Resolve([]string{a}, b, "2026-01-27")
		if (err == nil) != strings.Contains(a, b) || err == nil && found != a {
			t.Errorf("Resolve of the ids %q and %q returned %q, %v", a, b, found, err)
		}
	})
}
