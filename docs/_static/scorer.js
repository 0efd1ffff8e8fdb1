// How results of the search are ordered. Sphinx orders pages that merely have the words by their titles. Here pages come first
// whose name has all words of the query, or whose heading is a part of it (a message of an error is the heading of its section).
// Among the others, names, how-to pages and guides come before errors, programs, figures and changes. Sphinx finds a name by any
// letters in it: one that only has the query within a word, as "ode" in "todense", goes back.
var Scorer = (() => {
  const words = (text) => text.toLowerCase().match(/[a-z0-9]+/g) || [];
  const query = typeof location === "undefined" ? [] : words(new URLSearchParams(location.search).get("q") || "");
  const meets = (asked, word) => word.startsWith(asked) || (word.length > 3 && asked.startsWith(word));
  const names = (text) => query.length > 0 && query.every((asked) => words(text).some((word) => meets(asked, word)));
  const places = [
    [/^_generated\/reference\//, 4],
    [/^how-to\//, 4],
    [/^errors\//, -4],
    [/^(_generated\/examples\/experiments\/|design$)/, -30],
    [/^(_generated\/(examples|project)\/|benchmarks$)/, -12],
    [/./, 2],
  ];
  return {
    score: ([docname, title, anchor, descr, score, filename, kind]) => {
      let found = score + places.find(([place]) => place.test(docname))[1];
      if (kind === "object") return names(title) ? found : found - 30;
      if (names(`${title} ${docname.split("/").pop()}`)) found += 12;
      return kind === "title" ? found + 20 : found;
    },
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
  };
})();
