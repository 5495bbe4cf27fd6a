package advice

import "sluice/internal/config"

func init() {
	register("never-applies", neverApplies)
	register("override-unused", overrideUnused)
}

// neverApplies finds limits of a group that another of the group always precedes.
func neverApplies(s *Subject, warn func(path, message, remedy string)) {
	first := map[string][]*config.Limit{} // of each group, those before
	for _, l := range compared(s.Policy) {
		if l.Group == "" {
			continue
		}
		for _, b := range first[l.Group] {
			if implied(l.Match, b.Match) && len(b.Except) == 0 {
				warn(at(l, "group"), "limit "+l.Name+" never applies: "+b.Name+" of the same group comes first and matches all that it does",
					"put "+l.Name+" before "+b.Name+", or narrow the match of "+b.Name)
				break
			}
		}
		first[l.Group] = append(first[l.Group], l)
	}
}

// overrideUnused finds overrides that an earlier one always precedes. Very many
// overrides are lists of names that a program wrote, and are not compared.
func overrideUnused(s *Subject, warn func(path, message, remedy string)) {
	const most = 500
	for _, l := range s.Policy.Limits {
		if len(l.Overrides) > most {
			continue
		}
		for i := range l.Overrides {
			for j := range l.Overrides[:i] {
				if implied(l.Overrides[i].When, l.Overrides[j].When) {
					warn(config.ItemPath(at(l, "overrides"), i), "this override is never used: overrides["+number(int64(j))+"] comes first and holds for all of its requests",
						"put it before the other one")
					break
				}
			}
		}
	}
}
