# `cmake --install BUILD --prefix P`, and `cpack` for an archive of the same. P can be moved afterwards:
# the tool finds lib/libfusec_compiler.so beside its own bin/.
set(FUSEC_INCLUDE_DIR include/fusec)
set(FUSEC_CMAKE_DIR lib/cmake/fusec)

function(fusec_install_headers FOLDER)
  foreach(root ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    install(DIRECTORY ${root}/${FOLDER}/ DESTINATION ${FUSEC_INCLUDE_DIR}/${FOLDER}
      FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN "*.h.inc" PATTERN CMakeFiles EXCLUDE)
  endforeach()
endfunction()

# fusec::runtime, with the static libraries it is made of.
foreach(library FusecBase FusecDevice FusecCudaDevice FusecVirtualDevice FusecGpuDevices FusecKv FusecExec FusecText
    FusecJinja FusecRuntime)
  target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${FUSEC_INCLUDE_DIR}>)
  target_compile_features(${library} INTERFACE cxx_std_20)
  install(TARGETS ${library} EXPORT fusecTargets ARCHIVE DESTINATION lib)
endforeach()
set_target_properties(FusecRuntime PROPERTIES EXPORT_NAME runtime)
fusec_install_headers(runtime)

# The tool, its compiler, and fusec::plugin: the compiler as plugins link it.
if(TARGET fusec)
  install(TARGETS fusec RUNTIME DESTINATION bin)
  target_include_directories(fusec_compiler INTERFACE $<INSTALL_INTERFACE:${FUSEC_INCLUDE_DIR}>)
  set_target_properties(fusec_compiler PROPERTIES EXPORT_NAME plugin)
  install(TARGETS fusec_compiler EXPORT fusecTargets LIBRARY DESTINATION lib)
  fusec_install_headers(ir)
  fusec_install_headers(passes)
  install(DIRECTORY examples/ DESTINATION share/fusec/examples)
endif()
install(DIRECTORY docs/ DESTINATION share/doc/fusec)
install(FILES README.md LICENSE DESTINATION share/doc/fusec)

include(CMakePackageConfigHelpers)
configure_package_config_file(tools/cmake/fusecConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/fusecConfig.cmake
  INSTALL_DESTINATION ${FUSEC_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/fusecConfigVersion.cmake COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/fusecConfig.cmake ${CMAKE_BINARY_DIR}/cmake/fusecConfigVersion.cmake
  DESTINATION ${FUSEC_CMAKE_DIR})
install(EXPORT fusecTargets NAMESPACE fusec:: DESTINATION ${FUSEC_CMAKE_DIR})

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Fusing compiler and runtime for language models")
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
