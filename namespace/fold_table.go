package namespace

const foldEntries = ""
