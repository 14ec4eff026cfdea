package beneath

func init() {
	forms["walked"] = func() (restore func()) {
		noOpenat2.Store(true)
		return func() { noOpenat2.Store(false) }
	}
}
