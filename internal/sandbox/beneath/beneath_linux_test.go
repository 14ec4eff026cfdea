package beneath

func init() {
	forms["walk without openat2"] = func() (restore func()) {
		noOpenat2.Store(true)
		return func() { noOpenat2.Store(false) }
	}
}
