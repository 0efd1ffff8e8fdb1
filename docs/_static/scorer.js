// How results of the search are ordered: as Sphinx does it, but headings that have all of the query come before other pages,
// since a message of an error is the heading of its section.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => (kind === "title" ? score + 20 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
