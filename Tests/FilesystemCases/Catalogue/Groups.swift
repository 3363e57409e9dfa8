extension PosixCatalogue {
    static let groups: [[PosixCase]] = [
        openCases, createCases, readWriteCases, appendCases, truncateCases, timesCases, modeBitCases,
        searchBitCases,
        permissionCases,
        ownershipCases, setIdCases, stickyCases, hardLinkCases, symbolicLinkCases, renameCases,
        renameFlagCases, directoryCases, directoryReadingCases, unlinkedCases, sparseCases, copyRangeCases,
        extendedAttributeCases, accessControlCases, defaultListCases, mappingCases, lockCases,
        specialFileCases, nameCases, synchroniseCases, statisticsCases, handleCases,
    ]
}
