package results

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestStoreGivesTextsToTheirPrincipalUntilTheyExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Store[string]
		defer s.Close()
		first := s.Keep("a", nil, "first", 0, "tool")
		time.Sleep(lifetime - time.Second)
		second := s.Keep("b", nil, "second", 0, "tool")
		if k, exists := s.Find("a", first); k == nil || k.Text != "first" || k.Source != "tool" || !exists {
			t.Errorf("got %v", k)
		}
		if k, exists := s.Find("b", first); k != nil || !exists {
			t.Errorf("another principal gets %v", k)
		}
		if k, exists := s.Find("a", "other"); k != nil || exists {
			t.Errorf("an unknown id is of %v", k)
		}
		time.Sleep(time.Second)
		if k, exists := s.Find("a", first); k != nil || exists {
			t.Errorf("got %v after its time", k)
		}
		synctest.Wait()
		s.mu.Lock()
		if len(s.kept) != 1 || s.bytes != len("second") || len(s.owners) != 1 {
			t.Errorf("%d texts of %d principals with %d bytes are kept", len(s.kept), len(s.owners), s.bytes)
		}
		s.mu.Unlock()
		time.Sleep(lifetime)
		synctest.Wait()
		if k, _ := s.Find("b", second); k != nil || s.bytes != 0 || s.timer != nil {
			t.Errorf("the second is still there: %v", k)
		}
	})
}

func TestStoreDropsTextsWithAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Store[int]
		defer s.Close()
		held, end := context.WithCancel(t.Context())
		first, other := s.Keep("a", held, "first", 0, 0), s.Keep("b", t.Context(), "other", 0, 0)
		end()
		synctest.Wait()
		late := s.Keep("a", held, "late", 0, 0) // of a call that ends after its token
		synctest.Wait()
		for _, id := range []string{first, late} {
			if k, exists := s.Find("a", id); k != nil || exists {
				t.Errorf("got %q of a revoked token", k.Text)
			}
		}
		if k, _ := s.Find("b", other); k == nil {
			t.Error("the text of another principal was dropped")
		}
	})
}

func TestStoreIsBounded(t *testing.T) {
	t.Parallel()
	var s Store[int]
	defer s.Close()
	if id := s.Keep("a", nil, strings.Repeat("x", maxText+1), 0, 0); id != "" {
		t.Error("a text that is too long is kept")
	}
	victim := s.Keep("victim", nil, "small", 0, 0)
	first := s.Keep("a", nil, "0", 0, 0)
	for range maxOwned {
		s.Keep("a", nil, "1", 0, 0)
	}
	if k, _ := s.Find("a", first); k != nil || len(s.owners["a"].kept) != maxOwned {
		t.Errorf("%d texts of one principal are kept", len(s.owners["a"].kept))
	}
	half := strings.Repeat("x", maxOwnedBytes/2+1)
	s.Keep("a", nil, half, 0, 0)
	last := s.Keep("a", nil, half, 0, 0)
	if k, _ := s.Find("a", last); k == nil || len(s.owners["a"].kept) != 1 || s.owners["a"].bytes != len(half) {
		t.Errorf("%d bytes of one principal are kept", s.owners["a"].bytes)
	}
	check := func(flood string) {
		t.Helper()
		sum := 0
		for _, o := range s.owners {
			of := 0
			for _, k := range o.kept {
				of += len(k.Text)
			}
			if of != o.bytes {
				t.Errorf("%s: a principal has %d bytes, counted as %d", flood, of, o.bytes)
			}
			sum += of
		}
		if len(s.kept) > maxAll || s.bytes > maxAllBytes || s.bytes != sum {
			t.Errorf("%s: %d texts with %d bytes are kept, counted as %d", flood, len(s.kept), sum, s.bytes)
		}
	}
	for i := range 2 * maxAllBytes / len(half) {
		s.Keep(fmt.Sprintf("large%d", i), nil, half, 0, 0)
	}
	check("large texts")
	if k, _ := s.Find("victim", victim); k == nil {
		t.Error("large texts of others have displaced a small one")
	}
	for i := range 2 * maxAll / maxOwned {
		for range maxOwned {
			s.Keep(fmt.Sprintf("many%d", i), nil, "12345678", 0, 0)
		}
	}
	check("many texts")
	if k, _ := s.Find("victim", victim); k == nil {
		t.Error("many texts of others have displaced a small one")
	}
	larger := s.Keep("larger", nil, strings.Repeat("x", 1000), 0, 0)
	for i := range 2 * maxAll / maxOwned {
		for range maxOwned {
			s.Keep(fmt.Sprintf("small%d", i), nil, "1", 0, 0)
		}
	}
	check("small texts")
	if k, _ := s.Find("larger", larger); k == nil {
		t.Error("many small texts of others have displaced the larger one of a principal that has no other")
	}
	s.Close()
	if s.Keep("a", nil, "x", 0, 0) != "" || len(s.kept) != 0 || s.bytes != 0 {
		t.Error("a closed store keeps texts")
	}
}

// TestClosedStoreIsEmpty checks that a call which ends while a Store is closed leaves nothing there.
func TestClosedStoreIsEmpty(t *testing.T) {
	t.Parallel()
	for range 20 {
		var s Store[int]
		var calls sync.WaitGroup
		begun := make(chan bool)
		for range 4 {
			calls.Go(func() {
				s.Keep("a", nil, "x", 0, 0)
				begun <- true
				for s.Keep("a", nil, "x", 0, 0) != "" {
				}
			})
		}
		for range 4 {
			<-begun
		}
		s.Close()
		calls.Wait()
		if len(s.kept) != 0 || s.bytes != 0 {
			t.Fatalf("%d texts are kept", len(s.kept))
		}
	}
}

func TestPartOfText(t *testing.T) {
	t.Parallel()
	k := &Kept[int]{ID: "ID", Text: strings.Repeat("0123456789", 200), Limit: 1024}
	for _, test := range []struct {
		offset, length int
		want           string
	}{
		{0, 10, `{"content":[{"type":"text","text":"0123456789"},{"type":"text","text":"[Bytes 0 to 10 of 2000. For more, call read_result with {\"id\":\"ID\",\"offset\":10}, within 30 minutes.]"}]}`},
		{1995, 0, `{"content":[{"type":"text","text":"56789"},{"type":"text","text":"[Bytes 1995 to 2000 of 2000: the end.]"}]}`},
		{2000, 1, `was called with the offset 2000, and the result has 2000 bytes`},
	} {
		got, err := k.Part(test.offset, test.length, k.Limit)
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	if got, err := k.Part(0, 5000, k.Limit); err != nil || size(got) > k.Limit || !strings.Contains(string(got), "[Bytes 0 to 424 of 2000.") {
		t.Errorf("got %s, %v", got, err)
	}
	large := &Kept[int]{ID: "ID", Text: strings.Repeat("x", 2*maxPart), Limit: 1 << 30}
	if got, err := large.Part(0, 2*maxPart, large.Limit); err != nil || len(got) > maxPart+maxNote {
		t.Errorf("a part without limit has %d bytes: %v", len(got), err)
	}
}
